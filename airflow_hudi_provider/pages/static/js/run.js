// The results of the Hudi tasks of one run: a panel for the run, or for one of its task instances.
import { html } from "../vendor/htm-preact.module.js";
import { bytes, counted, duration, number } from "./format.js";
import { Read, Section, TableLink, TaskLink, useRead } from "./parts.js";

export function RunPage({ asked }) {
  const path = `dags/${encodeURIComponent(asked.dag_id)}/runs/${encodeURIComponent(asked.run_id || "")}`;
  // Airflow leaves a token such as {MAP_INDEX} unchanged if it has no value for the token.
  const given = (name) => (asked[name] && !asked[name].startsWith("{") ? asked[name] : "");
  const state = useRead(path, { task_id: given("task_id"), map_index: given("map_index") });
  return html`<${Read} state=${state} what="the results of the tasks">${(run) => html`<${Tasks} run=${run} />`}<//>`;
}

function Tasks({ run }) {
  if (run.tasks.length === 0) {
    const why = run.task_id ? "This task is not a Hudi task, or it has not begun yet." : "This run has no Hudi task, or its Hudi tasks have not begun yet.";
    return html`<p class="muted">There are no results. ${why}</p>`;
  }
  return run.tasks.map((task) =>
    task.outcome ? html`<${Task} task=${task} />` : html`<${Unfinished} task=${task} run=${run} />`,
  );
}

const FAILED = ["failed", "up_for_retry", "upstream_failed"];

// A task without a result. Its log shows its progress, the reason why it waits, or the reason why it failed.
function Unfinished({ task, run }) {
  const by = { ...task, dag_id: run.dag_id, run_id: run.run_id, map_index: task.map_index >= 0 ? task.map_index : "" };
  const isFailed = FAILED.includes(task.state);
  return html`
    <${Section} title=${titleOf(task)}>
      <p>
        <span class="badge ${isFailed ? "failing" : ""}">${task.state.replaceAll("_", " ")}</span> ${task.operator} ${why(task)}: <${TaskLink} by=${by} />
      </p>
      ${task.failure && html`<${FailureBlock} failure=${task.failure} tableId=${task.table_id} />`}
    <//>
  `;
}

function why({ state, failure }) {
  if (failure) return "failed. Its log shows what the task did";
  if (state === "skipped") return "had nothing to do, or a task before it was skipped. Its log names the reason";
  if (state === "upstream_failed") return "did not run, because a task before it failed. Page of the task";
  return "has not returned a result. Its log shows the progress, or the reason why there is no result";
}

// Shows the same block as the end of the task's log.
function FailureBlock({ failure, tableId }) {
  const { kind, message, hint, table, table_now: now, retry } = failure;
  const facts = [
    ["What happened", message],
    ["What to do", hint],
    ["Table", tableId ? html`<${TableLink} id=${tableId} name=${table} />` : table],
    ["Table now", now],
    ["Next try", retry],
    ["More", kind && html`<a href=${`static/errors.html#${encodeURIComponent(kind.toLowerCase())}`}>about ${kind}</a>`],
  ];
  return html`
    <div class="notice failing">
      <strong>${kind || "Failed"}</strong>
      <dl class="facts">
        ${facts.filter(([, text]) => text).map(([name, text]) => html`<dt>${name}</dt><dd class="lines">${text}</dd>`)}
      </dl>
    </div>
  `;
}

const titleOf = (task) => (task.map_index >= 0 ? `${task.task_id} [${task.map_index}]` : task.task_id);

// The name of the table's page, so that all tasks of a run show the same name. If a request does not name its table,
// the result sometimes contains no name either.
const tableOf = ({ page_name: page, table_name: name, base_path: path }) => page || name || path.replace(/\/+$/, "").split("/").pop();

function Task({ task }) {
  // The other phases already contain the time that the job waited for the lock.
  const phases = Object.entries(task.timings_s || {}).filter(([name]) => !["lock_wait", "spark_start"].includes(name));
  const start = (task.timings_s || {}).spark_start;
  const seconds = phases.reduce((sum, [, each]) => sum + each, 0);
  return html`
    <${Section} title=${titleOf(task)}>
      <p>
        <span class="badge">${task.outcome.replaceAll("_", " ")}</span> ${task.operation} on ${" "}
        <strong title=${task.base_path}>${task.table_id ? html`<${TableLink} id=${task.table_id} name=${tableOf(task)} />` : tableOf(task)}</strong>${seconds >= 0.05 ? ` in ${duration(seconds)}` : ""}${start ? `, after Spark's start of ${duration(start)}` : ""}.
        ${task.reused && !task.reason && " An earlier attempt completed the request; this attempt wrote nothing."}
      </p>
      ${task.reason && html`<p>${task.reason}</p>`}
      <dl class="figures">
        ${figures(task).map(
          ([name, value]) => html`
            <div class=${name.startsWith("Instant") ? "wide" : ""}>
              <dt>${name}</dt>
              <dd>${value}</dd>
            </div>
          `,
        )}
      </dl>
      ${(task.warnings || []).map((text) => html`<div class="notice warning"><p>${text}</p></div>`)}
      ${task.picture && html`<pre>${task.picture}</pre>`}
    <//>
  `;
}

const unbroken = (instant, index) => html`${index > 0 && ", "}<span style=${{ whiteSpace: "nowrap" }}>${instant}</span>`;

function figures(task) {
  const found = [];
  const instants = task.instants || [task.instant_time || task.instant].filter(Boolean);
  if (instants.length > 0) found.push([instants.length === 1 ? "Instant" : "Instants", instants.map(unbroken)]);
  for (const [name, count] of Object.entries(task.rows || {})) {
    if (count > 0) found.push([`Rows ${name.replaceAll("_", " ")}`, number(count)]);
  }
  // The result of a reused request contains no sizes of files, because the metadata of its commit contains none.
  if (task.partition_count) found.push(["Partitions", counted(task.partition_count, "partition")]);
  // The result of a write counts only the files of the partitions that the write changed.
  const where = task.rows && task.partition_count ? ", in these partitions" : "";
  const files = task.reused ? [] : [[`Files before${where}`, task.files_before], [`Files after${where}`, task.files_after]];
  for (const [name, stats] of files) {
    const count = stats && (stats.file_count ?? stats.files);
    if (count !== undefined && count !== null) found.push([name, `${number(count)}, ${bytes(stats.size_bytes ?? stats.bytes ?? 0)}`]);
  }
  for (const [name, logs] of [["Log files before", task.logs_before], ["Log files after", task.logs_after]]) {
    if (logs) found.push([name, `${number(logs.log_files)}, ${bytes(logs.log_bytes)}`]);
  }
  if (task.status) found.push(["State", task.status]);
  return found;
}
