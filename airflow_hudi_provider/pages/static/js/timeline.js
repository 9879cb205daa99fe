// The timeline of a table: charts of instants and file sizes, services that ran, and the latest instants.
import { html } from "../vendor/htm-preact.module.js";
import { Chart, laneOf, sizesOptions, timelineOptions } from "./charts.js";
import { bytes, counted, moment, number } from "./format.js";
import { Read, Section, Table, TaskLink, useRead } from "./parts.js";

const SHOWN_SERVICES = 20;
const SHOWN_INSTANTS = 50;
const SHOWN_UNDONE = 3;
const SERVICES = ["clustering", "compaction", "clean", "rollback", "restore", "savepoint"];

export function TimelineTab({ path, health, version }) {
  const history = useRead(`${path}/history`, {}, version);
  return html`
    <${Read} state=${history} what="instants">
      ${(value) => html`
        <${Section} title="Instants"><${Timeline} history=${value} /><//>
        <${Section} title="File sizes" hint="The base files that readers saw after each of the latest writes."><${Sizes} history=${value} /><//>
        <${Section} title="Services that ran"><${Services} history=${value} /><//>
      `}
    <//>
    ${health.value &&
    html`
      <${Section} title="Limits of cleaning and archival" hint="With Hudi's default settings. A table does not store the settings of the tasks that clean or archive it; their logs name the limits that applied.">
        <ul>
          <li>Cleaning: ${health.value.retention || "nothing blocks cleaning"}</li>
          <li>Archival: ${health.value.archival || "nothing blocks archival"}</li>
        </ul>
      <//>
    `}
  `;
}

function Timeline({ history }) {
  const { instants, instant_count: all } = history;
  if (instants.length === 0) return html`<p class="muted">Nothing has been written yet.</p>`;
  const label = `${counted(instants.length, "instant")} by kind and time`;
  const last = instants.slice(-SHOWN_INSTANTS).reverse();
  return html`
    ${history.archived_count > 0 && html`<p class="muted">The chart includes ${counted(history.archived_count, "archived write")}; other archived instants are not shown.</p>`}
    ${all > instants.length && html`<p class="muted">The chart shows the latest ${number(instants.length)} of ${counted(all, "instant")}.</p>`}
    <${Chart} build=${() => timelineOptions(instants, history.as_of_ms)} label=${label} depends=${instants} />
    <details>
      <summary>${last.length < instants.length ? `The latest ${number(last.length)} instants` : counted(last.length, "instant")} as a table</summary>
      <${Table} caption="Latest instants" head=${["Instant", "What", "State", { text: "Rows", number: true }, { text: "Written", number: true }, "By"]}>
        ${last.map((each) => html`<${InstantRow} key=${each.instant + each.action} each=${each} />`)}
      <//>
    </details>
  `;
}

function InstantRow({ each }) {
  const rows = each.rows && each.rows.inserted + each.rows.updated + each.rows.deleted;
  return html`
    <tr>
      <td class="time"><code>${each.instant}</code><div class="muted small">${moment(each.requested_ms)}</div></td>
      <td>${(each.operation || each.action).replaceAll("_", " ")}<${Undone} each=${each} /></td>
      <td>${each.state}</td>
      <td class="number">${rows === undefined ? "" : number(rows)}</td>
      <td class="number">${each.files_written === undefined ? "" : `${counted(each.files_written, "file")}, ${bytes(each.bytes_written)}`}</td>
      <td>${each.by ? html`<${TaskLink} by=${each.by} />` : ""}</td>
    </tr>
  `;
}

// The instants that a rollback or a restore undid, and why.
const Undone = ({ each: { undone: times, undo_reason: reason } }) =>
  times && html`<div class="muted small">of ${times.slice(0, SHOWN_UNDONE).join(", ")}${times.length > SHOWN_UNDONE ? ` and ${number(times.length - SHOWN_UNDONE)} more` : ""}</div><div class="muted small">${reason || "reason not recorded"}</div>`;

function Sizes({ history }) {
  const { sizes: points, end } = history;
  if (points.length === 0) return html`<p class="muted">Nothing has been written yet.</p>`;
  return html`
    <${Chart} tall build=${() => sizesOptions(history)} label="Files by size after each write" depends=${points} />
    <p class="muted">
      ${points.length > 1 && `The chart begins at ${moment(points[0].at_ms)}. `}${end} A file below ${bytes(history.limits.small_file_limit_bytes)} (${history.limits.recorded_by ? "the limit that the writers use" : "Hudi's default limit"}) counts as small if its partition contains another such file. The chart counts all files by size.
    </p>
  `;
}

function Services({ history }) {
  const ran = history.instants.filter((each) => each.state === "completed" && SERVICES.includes(laneOf(each)));
  if (ran.length === 0) return html`<p class="muted">No table service has completed in the period of this history.</p>`;
  const before = new Map(history.sizes.map((point, index) => [point.instant, history.sizes[index - 1]]));
  const after = new Map(history.sizes.map((point) => [point.instant, point]));
  // A savepoint has the requested time of its commit, and changes no file.
  const sizes = (found, each, saved) => (laneOf(each) === "savepoint" ? saved : files(found.get(each.instant)));
  return html`
    <${Table} caption="Services that ran" head=${["Instant", "Service", { text: "Files before", number: true }, { text: "Files after", number: true }, "By"]}>
      ${ran
        .slice(-SHOWN_SERVICES)
        .reverse()
        .map(
          (each) => html`
            <tr>
              <td class="time"><code>${each.instant}</code><div class="muted small">${moment(each.requested_ms)}</div></td>
              <td>${laneOf(each)}<${Undone} each=${each} /></td>
              <td class="number">${sizes(before, each, "")}</td>
              <td class="number">${sizes(after, each, "no file changed")}</td>
              <td>${each.by ? html`<${TaskLink} by=${each.by} />` : ""}</td>
            </tr>
          `,
        )}
    <//>
    ${ran.length > SHOWN_SERVICES && html`<p class="muted">The table shows the latest ${number(SHOWN_SERVICES)} of ${counted(ran.length, "service run")}.</p>`}
  `;
}

const files = (point) => (point ? `${number(point.files)}, ${bytes(point.bytes)}` : "");
