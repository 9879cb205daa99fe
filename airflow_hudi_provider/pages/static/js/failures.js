// The failed runs of a table's tasks without a later success.
import { html } from "../vendor/htm-preact.module.js";
import { ago, counted } from "./format.js";
import { TaskLink } from "./parts.js";

const SHOWN = 20;

// What the server knows about the table of a read. An error of a table contains the same facts as its overview.
export const tableOf = ({ value, error }) => value || (error && error.table) || null;

export const failureOf = (state) => (tableOf(state) || {}).last_failure || null;

const nameOf = (each) => `${each.dag_id} / ${each.task_id}, ${ago(each.ended_ms)}`;

// The newest failure in one line, and the number of other tasks that failed. The tooltip names these tasks.
export const LastFailure = ({ table: { last_failure: newest, earlier_failures: others = [] } }) => html`
  A run failed ${ago(newest.ended_ms)}, without a later success: <${TaskLink} by=${newest} />${others.length > 0 && html` <span title=${others.map(nameOf).join("\n")}>and ${counted(others.length, "more task")}</span>`}
`;

// A notice with a link to the failed run of each task.
export function LastFailures({ table }) {
  const { last_failure: newest, earlier_failures: others = [] } = table;
  if (!newest) return null;
  const end = "has succeeded for this table, or has found nothing to do.";
  return html`
    <div class="notice warning">
      <strong><${LastFailure} table=${table} /></strong>
      ${others.length === 0
        ? html`<p>This notice disappears after a later run of the same task ${end}</p>`
        : html`
            <ul>
              ${others.slice(0, SHOWN).map((each) => html`<li><${TaskLink} by=${each} /> <span class="muted">failed ${ago(each.ended_ms)}</span></li>`)}
              ${others.length > SHOWN && html`<li class="muted">and ${counted(others.length - SHOWN, "more task")}</li>`}
            </ul>
            <p>A task disappears from this notice after a later run of the task ${end}</p>
          `}
    </div>
  `;
}

// Why a table does not exist yet, if no run failed.
export function reasonOfAbsence({ last_failure: failure, writers }) {
  if (failure) return "";
  return writers.length > 0 ? "No write has run yet, or the first write is still running." : "No task in Airflow is known to write the table.";
}
