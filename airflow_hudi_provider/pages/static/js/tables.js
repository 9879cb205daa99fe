// All tables, with the most important figures of each. The page reads each table separately, so that a slow table does
// not delay the others.
import { html, useEffect, useState } from "../vendor/htm-preact.module.js";
import { read } from "./api.js";
import { ago, counted, number, percent } from "./format.js";
import { Read, Status, Table, useRead } from "./parts.js";

const AT_ONCE = 4;

export function TablesPage() {
  return html`
    <h1>Hudi tables</h1>
    <${Read} state=${useRead("tables")} what="the list of tables">${(tables) => html`<${List} tables=${tables} />`}<//>
  `;
}

function List({ tables }) {
  const [health, setHealth] = useState({});
  useEffect(() => {
    const queue = [...tables];
    const next = async () => {
      for (let table = queue.shift(); table; table = queue.shift()) {
        const found = await read(`tables/${table.id}/health`).then(
          (value) => ({ value }),
          (error) => ({ error }),
        );
        setHealth((known) => ({ ...known, [table.id]: found }));
      }
    };
    for (let started = 0; started < AT_ONCE; started += 1) next();
  }, [tables]);
  if (tables.length === 0) return html`<${Empty} />`;
  const head = ["Table", "State", "Last commit", "Small files", "Pending", "Not cleaned", "Leftover files"];
  return html`
    <${Table} caption="Hudi tables" head=${head}>
      ${tables.map((table) => html`<${Row} key=${table.id} table=${table} state=${health[table.id] || {}} />`)}
    <//>
  `;
}

const Empty = () => html`
  <div class="notice">
    <strong>No table is registered yet.</strong>
    <p>
      A table appears here once a DAG names it as an asset, such as${" "}
      <code>outlets=[HudiAsset("s3://lake/flights")]</code>, or once the setting${" "}
      <code>[hudi] tables</code> names it.
    </p>
  </div>
`;

function Row({ table, state }) {
  const link = html`<a href="?table=${table.id}">${table.name}</a>`;
  if (state.error) {
    return html`
      <tr>
        <td>${link}</td>
        <td colspan="6"><span class="badge failing">unreadable</span> ${state.error.message}</td>
      </tr>
    `;
  }
  if (!state.value) {
    return html`
      <tr>
        <td>${link}</td>
        <td colspan="6" class="muted">Reading …</td>
      </tr>
    `;
  }
  const { measures, status, times_ms: times } = state.value;
  const dead = measures.dead_instants || 0;
  return html`
    <tr>
      <td>${link}</td>
      <td><${Status} value=${status} /></td>
      <td>${ago(times.last_commit)}</td>
      <td>${measures.small_file_ratio === undefined ? "" : percent(measures.small_file_ratio)}</td>
      <td>${number(measures.pending_instants || 0)}${dead ? html`, <strong>${number(dead)} stuck</strong>` : ""}</td>
      <td>${counted(measures.commits_to_clean || 0, "commit")}</td>
      <td>${counted(measures.leftover_files || 0, "file")}</td>
    </tr>
  `;
}
