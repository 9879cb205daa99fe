// Components that several pages share.
import { html, useEffect, useState } from "../vendor/htm-preact.module.js";
import { read } from "./api.js";
import { clockWithZone, counted, moment, number } from "./format.js";

// Returns { value } after a successful read, { error } after a failed read, and {} while the first read is running.
// After a read, `read_ms` is the time of its end.
// If `version` increases, the server reads the table again. During that read, `value` is the earlier value.
export function useRead(path, parameters = {}, version = 0) {
  const [state, setState] = useState({});
  const key = `${path} ${JSON.stringify(parameters)}`;
  useEffect(() => {
    let wanted = true;
    setState((known) => (known.key === key ? { ...known, isReading: true } : { key }));
    read(path, version ? { ...parameters, fresh: true } : parameters)
      .then((value) => wanted && setState({ key, value, read_ms: Date.now() }))
      .catch((error) => wanted && setState({ key, error, read_ms: Date.now() }));
    return () => {
      wanted = false;
    };
  }, [key, version]);
  return state.key === key ? state : {};
}

export const Waiting = ({ what }) => html`<p class="muted" role="status">Reading ${what} …</p>`;

export const Failure = ({ error }) => html`
  <div class="notice failing" role="alert">
    <strong>${error.kind}</strong>
    <p>${error.message}</p>
    ${error.hint && html`<p>${error.hint}</p>`}
  </div>
`;

// Shows the value of a read, a notice while the read is running, or the error of the read.
// The outer element stays the same, so that the value replaces the notice.
export function Read({ state, what, children }) {
  const inner = () => {
    if (state.error) return html`<${Failure} error=${state.error} />`;
    return state.value ? children(state.value) : html`<${Waiting} what=${what} />`;
  };
  return html`<div>${inner()}</div>`;
}

const WORDS = { healthy: "healthy", warning: "needs attention", failing: "failing", absent: "not created yet" };

export const Status = ({ value }) => html`<span class="badge ${value === "unreadable" ? "failing" : value}">${WORDS[value] || value}</span>`;

// Name, state and path of a table, and when the page read the table.
export const Title = ({ table, status, ms, isReading, refresh }) => html`
  <header>
    <h1>${table.name} ${status && html`<${Status} value=${status} />`}</h1>
    <p class="muted path"><code><${Path} path=${table.base_path} /></code></p>
    <${AsOf} ms=${ms} isReading=${isReading} refresh=${refresh} />
  </header>
`;

// Facts are pairs of a name and a text or an element.
export const Facts = ({ facts }) => html`
  <dl class="facts">
    ${facts.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}
  </dl>
`;

// Shows when the data were read, and a button that reads the data again.
export const AsOf = ({ ms, isReading, refresh }) => html`
  <span class="as-of muted" role="status">
    ${isReading || !ms ? "reading …" : html`<span title=${moment(ms)}>as of ${clockWithZone(ms)}</span>`} ${" "}
    <button type="button" class="plain" onClick=${refresh} disabled=${isReading} aria-label="Read again" title="Read again">↻</button>
  </span>
`;

export const Section = ({ title, hint, children }) => html`
  <section>
    <h2>${title}</h2>
    ${hint && html`<p class="muted">${hint}</p>`} ${children}
  </section>
`;

// On narrow screens, users can scroll the rows sideways, also with the keyboard.
// A head is a text, or { text, key, number } for a column that sorts by `key`.
export const Table = ({ caption, head, children, order, sortBy, kind }) => html`
  <div class="scroll ${kind || ""}" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <thead>
        <tr>
          ${head.map((column) => html`<${Head} column=${column} order=${order} sortBy=${sortBy} />`)}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>
`;

function Head({ column, order, sortBy }) {
  if (typeof column === "string") return html`<th scope="col">${column}</th>`;
  const kind = column.number ? "number" : "";
  if (!column.key) return html`<th scope="col" class=${kind}>${column.text}</th>`;
  const isSorted = order.key === column.key;
  const direction = isSorted ? (order.descending ? "descending" : "ascending") : "none";
  const arrow = isSorted ? (order.descending ? " ▾" : " ▴") : "";
  return html`
    <th scope="col" class=${kind} aria-sort=${direction}>
      <button type="button" class="plain" onClick=${() => sortBy(column)}>${column.text}${arrow}</button>
    </th>
  `;
}

// The order of a table. The first click on a head sorts numbers from the largest, and texts from A to Z. The second
// click reverses the order.
export function useOrder(first) {
  const [order, setOrder] = useState(first);
  const sortBy = ({ key, number: isNumber }) =>
    setOrder((known) => ({ key, descending: known.key === key ? !known.descending : Boolean(isNumber) }));
  return [order, sortBy];
}

export const Search = ({ value, onInput, label }) => html`
  <input
    type="search"
    value=${value}
    placeholder=${label}
    aria-label=${label}
    onInput=${(event) => onInput(event.currentTarget.value)}
  />
`;

// Buttons for tables that the server delivers in parts.
export function Paging({ offset, shown, count, noun, move }) {
  if (count <= shown && offset === 0) return html`<p class="muted">${counted(count, noun)}</p>`;
  const last = offset + shown;
  return html`
    <p class="muted paging">
      <button type="button" disabled=${offset === 0} onClick=${() => move(-1)}>← Previous</button>
      <span>${number(shown ? offset + 1 : offset)} to ${number(last)} of ${counted(count, noun)}</span>
      <button type="button" disabled=${last >= count} onClick=${() => move(1)}>Next →</button>
    </p>
  `;
}

const runAddress = ({ dag_id, run_id, task_id, map_index }) => {
  const parts = run_id ? ["dags", dag_id, "runs", run_id, "tasks", task_id] : ["dags", dag_id, "tasks", task_id];
  const path = parts.map(encodeURIComponent).join("/");
  const mapped = map_index === "" || map_index === undefined ? "" : `/mapped/${encodeURIComponent(map_index)}`;
  return new URL(`../${path}${mapped}`, window.location.href).href;
};

// A page in Airflow's iframe may not navigate the outer page, but a link in the outer page may.
function leave(event) {
  if (window.parent === window) return;
  event.preventDefault();
  const outer = window.parent.document;
  const link = outer.createElement("a");
  link.href = event.currentTarget.href;
  outer.body.append(link);
  link.click();
  link.remove();
}

// A link to the page of a task in Airflow or, if the run is known, to the page of its task instance.
export const TaskLink = ({ by }) => html`<a href=${runAddress(by)} onClick=${leave}>${by.dag_id} / ${by.task_id}</a>`;

export const DagLink = ({ dagId }) => html`
  <a href=${new URL(`../dags/${encodeURIComponent(dagId)}`, window.location.href).href} onClick=${leave}>${dagId}</a>
`;

// A link to the page of an asset in Airflow.
export const AssetLink = ({ id, name }) => html`
  <a href=${new URL(`../assets/${encodeURIComponent(id)}`, window.location.href).href} onClick=${leave}>${name}</a>
`;

// A link to the page of a table, in Airflow's own page if this page is in a frame.
export const TableLink = ({ id, name }) => html`<a href="?table=${encodeURIComponent(id)}">${name}</a>`;

// A path that breaks between its folders if the line is too short.
export const Path = ({ path }) => path.split("/").map((part, index) => html`${index > 0 && html`/<wbr />`}${part}`);

// Elements of a list, separated by commas.
export const Listed = ({ items }) => items.map((item, index) => html`${index > 0 ? ", " : ""}${item}`);
