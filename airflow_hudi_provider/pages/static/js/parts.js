// Components that several pages share.
import { html, useEffect, useState } from "../vendor/htm-preact.module.js";
import { read } from "./api.js";

// Returns { value } after a successful read, { error } after a failed read, and {} while the read is running.
export function useRead(path, parameters = {}) {
  const [state, setState] = useState({});
  const key = `${path} ${JSON.stringify(parameters)}`;
  useEffect(() => {
    let wanted = true;
    setState({});
    read(path, parameters)
      .then((value) => wanted && setState({ value }))
      .catch((error) => wanted && setState({ error }));
    return () => {
      wanted = false;
    };
  }, [key]);
  return state;
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

const WORDS = { healthy: "healthy", warning: "needs attention", failing: "failing" };

export const Status = ({ value }) => html`<span class="badge ${value}">${WORDS[value] || value}</span>`;

export const Section = ({ title, hint, children }) => html`
  <section>
    <h2>${title}</h2>
    ${hint && html`<p class="muted">${hint}</p>`} ${children}
  </section>
`;

// On narrow screens, users can scroll the rows sideways, also with the keyboard.
export const Table = ({ caption, head, children }) => html`
  <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <thead>
        <tr>
          ${head.map((name) => html`<th scope="col">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>
`;

const runAddress = ({ dag_id, run_id, task_id, map_index }) => {
  const path = ["dags", dag_id, "runs", run_id, "tasks", task_id].map(encodeURIComponent).join("/");
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

// A link to the page of a task in Airflow.
export const TaskLink = ({ by }) => html`<a href=${runAddress(by)} onClick=${leave}>${by.dag_id} / ${by.task_id}</a>`;
