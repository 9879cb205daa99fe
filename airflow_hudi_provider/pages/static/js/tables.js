// All tables, worst first, with the most important figures of each. The page reads each table separately, so that a slow
// table does not delay the others.
import { html, useEffect, useState } from "../vendor/htm-preact.module.js";
import { read } from "./api.js";
import { failureOf, LastFailure, reasonOfAbsence, tableOf } from "./failures.js";
import { ago, bytes, counted, countedRows, inSentence, moment, number, rows, rowsHint } from "./format.js";
import { AsOf, DagLink, Listed, Path, Read, Search, Status, Table, TableLink, useOrder, useRead } from "./parts.js";

const AT_ONCE = 4;
const SEVERITY = ["failing", "unreadable", "warning", "healthy", "absent", "reading"];
const FILTERS = { "": "all states", failing: "failing", unreadable: "unreadable", warning: "needs attention", healthy: "healthy", absent: "not created yet", failed: "failed run without a later success" };
const HEAD = [
  { text: "Table", key: "name" },
  { text: "State", key: "state" },
  { text: "Size", key: "size", number: true },
  { text: "Rows", key: "rows", number: true },
  { text: "Files", key: "files", number: true },
  { text: "Last commit", key: "commit", number: true },
  { text: "Written by", key: "owner" },
];

export function TablesPage() {
  const [version, setVersion] = useState(0);
  const list = useRead("tables", {}, version);
  return html`
    <${Read} state=${list} what="the list of tables">
      ${(tables) => html`<${List} tables=${tables} version=${version} refresh=${() => setVersion(version + 1)} />`}
    <//>
  `;
}

function useSummaries(tables, version) {
  const [found, setFound] = useState({});
  useEffect(() => {
    let wanted = true;
    const queue = [...tables];
    const next = async () => {
      for (let table = queue.shift(); table && wanted; table = queue.shift()) {
        const state = await read(`tables/${table.id}/summary`, version ? { fresh: true } : {}).then(
          (value) => ({ value, version }),
          (error) => ({ error, version }),
        );
        if (wanted) setFound((known) => ({ ...known, [table.id]: state }));
      }
    };
    for (let started = 0; started < AT_ONCE; started += 1) next();
    return () => {
      wanted = false;
    };
  }, [tables, version]);
  return found;
}

const stateOf = ({ value, error }) => {
  if (error) return "unreadable";
  if (!value) return "reading";
  return value.exists ? value.status : "absent";
};

// Returns a list of numbers by which tables are sorted; the table in the worst state has the smallest list. Tables in
// the same state are compared by the numbers of failures, of dead instants and of findings. A table with a failed run
// needs attention, even if the table is healthy or does not exist yet.
function severity(state) {
  const { findings = [], measures = {} } = state.value || {};
  const own = SEVERITY.indexOf(stateOf(state));
  const rank = failureOf(state) ? Math.min(own, SEVERITY.indexOf("warning")) : own;
  const failing = findings.filter((each) => each.level === "fail").length;
  return [rank, -failing, -(measures.dead_instants || 0), -findings.length];
}

const sortable = (table, state) => {
  const value = (state.value && state.value.exists && state.value) || {};
  const commit = value.last_commit;
  return {
    name: table.name.toLowerCase(),
    state: severity(state),
    size: value.size_bytes ?? -1,
    rows: value.rows ?? -1,
    files: value.files ?? -1,
    commit: (commit && commit.at_ms) ?? -1,
    owner: owners(table, value).join(" "),
  };
};

function compare(one, other) {
  if (!Array.isArray(one)) return one < other ? -1 : one > other ? 1 : 0;
  const index = one.findIndex((each, place) => each !== other[place]);
  return index < 0 ? 0 : compare(one[index], other[index]);
}

// The DAGs whose tasks have the table as an outlet, or else the DAG of the last commit.
function owners(table, value) {
  const dags = [...new Set(table.writers.map((each) => each.dag_id))];
  const by = value && value.last_commit && value.last_commit.by;
  return dags.length === 0 && by ? [by.dag_id] : dags;
}

function List({ tables, version, refresh }) {
  const found = useSummaries(tables, version);
  const [search, setSearch] = useState("");
  const [filter, setFilter] = useState("");
  const [order, sortBy] = useOrder({ key: "state", descending: false });
  if (tables.length === 0) return html`<h1>Hudi tables</h1><${Empty} />`;
  const states = tables.map((table) => ({ table, state: found[table.id] || {} }));
  const isReading = states.some(({ state }) => state.version !== version);
  const words = search.toLowerCase();
  const shown = states
    .filter(({ table }) => `${table.name} ${table.base_path}`.toLowerCase().includes(words))
    .filter(({ state }) => !filter || (filter === "failed" ? failureOf(state) : stateOf(state) === filter))
    .map((each) => ({ ...each, by: sortable(each.table, each.state) }))
    .sort((one, other) => {
      const found = compare(one.by[order.key], other.by[order.key]) * (order.descending ? -1 : 1);
      return found || compare(one.by.name, other.by.name) || compare(one.table.id, other.table.id);
    });
  const times = states.map(({ state }) => state.value && state.value.as_of_ms).filter(Boolean);
  return html`
    <h1>Hudi tables</h1>
    <${Totals} states=${states} />
    <div class="controls">
      <${Search} value=${search} onInput=${setSearch} label="Search names and paths" />
      <select aria-label="State" value=${filter} onChange=${(event) => setFilter(event.currentTarget.value)}>
        ${Object.entries(FILTERS).map(([value, text]) => html`<option value=${value}>${text}</option>`)}
      </select>
      <${AsOf} ms=${times.length ? Math.min(...times) : 0} isReading=${isReading} refresh=${refresh} />
    </div>
    <${Table} kind="tables" caption="Hudi tables" head=${HEAD} order=${order} sortBy=${sortBy}>
      ${shown.map(({ table, state }) => html`<${Row} key=${table.id} table=${table} state=${state} />`)}
    <//>
    ${shown.length === 0 && html`<p class="muted">No table matches.</p>`}
  `;
}

function Totals({ states }) {
  const values = states.map(({ state }) => state.value).filter((value) => value && value.exists);
  const sum = (name) => values.reduce((total, value) => total + value[name], 0);
  const count = (name) => states.filter(({ state }) => stateOf(state) === name).length;
  const bad = [["failing", count("failing")], ["unreadable", count("unreadable")], ["need attention", count("warning")], ["with a failed run", states.filter(({ state }) => failureOf(state)).length]];
  const states_ = bad.filter(([, each]) => each > 0).map(([name, each]) => `${number(each)} ${each === 1 && name === "need attention" ? "needs attention" : name}`);
  const parts = [
    counted(states.length, "table"),
    bytes(sum("size_bytes")),
    counted(sum("files"), "file"),
    countedRows({ rows: sum("rows"), files: sum("files") || -1, uncounted_files: sum("uncounted_files") }),
  ];
  const reading = count("reading");
  return html`
    <p class="totals">
      ${parts.join(" · ")}${reading ? ` · ${number(reading)} still to read` : ""}
      ${states_.length > 0 && html` · <strong>${states_.join(", ")}</strong>`}
    </p>
  `;
}

const Empty = () => html`
  <div class="notice">
    <strong>No table is registered yet.</strong>
    <p>
      A table appears here as soon as a DAG has an operator of this provider with a fixed base path, such as${" "}
      <code>UpsertWithSizingOperator(base_path="s3://lake/flights", …)</code>, names the table as an asset, or the
      setting${" "}<code>[hudi] tables</code> names it.
    </p>
  </div>
`;

function Row({ table, state }) {
  const name = html`
    <td>
      <${TableLink} id=${table.id} name=${table.name} />
      <div class="muted path"><${Path} path=${table.base_path} /></div>
    </td>
  `;
  const { value, error } = state;
  const failed = failureOf(state) && html`<div class="muted reason"><${LastFailure} table=${tableOf(state)} /></div>`;
  const owner = html`<td><${Listed} items=${owners(table, value).map((each) => html`<${DagLink} dagId=${each} />`)} /></td>`;
  if (error) {
    return html`
      <tr>
        ${name}
        <td><${Status} value="unreadable" /><div class="reason">${error.message}</div>${failed}</td>
        <td colspan="4"></td>
        ${owner}
      </tr>
    `;
  }
  if (!value) {
    return html`
      <tr>
        ${name}
        <td colspan="5" class="muted">Reading …</td>
        ${owner}
      </tr>
    `;
  }
  if (!value.exists) {
    return html`
      <tr>
        ${name}
        <td><${Status} value="absent" />${failed || html`<div class="muted reason">${reasonOfAbsence(value)}</div>`}</td>
        <td colspan="4"></td>
        ${owner}
      </tr>
    `;
  }
  const commit = value.last_commit;
  return html`
    <tr>
      ${name}
      <td>
        <${Status} value=${value.status} />
        ${value.status !== "healthy" && html`<div class="muted reason">${reasonOf(value)}</div>`}
        ${failed}
      </td>
      <td class="number">${bytes(value.size_bytes)}</td>
      <td class="number" title=${rowsHint(value)}>${rows(value)}</td>
      <td class="number">${number(value.files)}</td>
      <td class="number" title=${commit ? moment(commit.at_ms) : ""}>${commit ? ago(commit.at_ms) : "never"}</td>
      ${owner}
    </tr>
  `;
}

const reasonOf = ({ damage, findings }) => (damage ? "damaged timeline" : findings.map((each) => inSentence(each.title)).join(", "));
