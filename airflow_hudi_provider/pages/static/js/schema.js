// The columns of a table, and the changes of its schema.
import { html } from "../vendor/htm-preact.module.js";
import { counted, moment } from "./format.js";
import { Read, Section, Table, useRead } from "./parts.js";

export function SchemaTab({ path, version }) {
  const schema = useRead(`${path}/schema`, {}, version);
  return html`<${Read} state=${schema} what="schemas">${(value) => html`<${Schema} schema=${value} />`}<//>`;
}

function Schema({ schema }) {
  if (schema.columns.length === 0) return html`<p class="muted">No write has stored a schema yet.</p>`;
  const roles = (name) => Object.entries(schema.keys).filter(([, columns]) => columns.includes(name)).map(([role]) => role);
  return html`
    <${Section} title=${counted(schema.columns.length, "column")}>
      <${Table} caption="Columns" head=${["Column", "Type", "Null", "Role", "Comment"]}>
        ${schema.columns.map(
          (each) => html`
            <tr>
              <td><code>${each.name}</code></td>
              <td><code class="wrapped">${each.type}</code></td>
              <td>${each.nullable ? "allowed" : "not allowed"}</td>
              <td>${roles(each.name).join(", ")}</td>
              <td>${each.comment}</td>
            </tr>
          `,
        )}
      <//>
    <//>
    <${Section} title="History" hint=${hint(schema)}>
      <${Table} caption="Changes of the schema" head=${["Since", "Instant", "Change"]}>
        ${schema.versions.map(
          (each) => html`
            <tr>
              <td>${moment(each.at_ms)}</td>
              <td><code>${each.instant_time}</code></td>
              <td>${changes(each, schema).map((text) => html`<div>${text}</div>`)}</td>
            </tr>
          `,
        )}
      <//>
    <//>
  `;
}

const hint = ({ is_whole: isWhole, searched_writes: count }) =>
  isWhole ? "" : `This page compares the schemas of the latest ${counted(count, "write")}. Older changes are not shown.`;

function changes(each, { versions, is_whole: isWhole }) {
  if (each === versions[versions.length - 1]) return [`${isWhole ? "first schema" : "oldest known schema"}, ${counted(each.columns, "column")}`];
  const listed = (verb, names) => (names.length ? [`${verb}: ${names.join(", ")}`] : []);
  return [...listed("added", each.added), ...listed("removed", each.removed), ...each.changed];
}
