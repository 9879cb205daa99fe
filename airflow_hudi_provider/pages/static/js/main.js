// The query of the address selects the page: ?table= selects one table, ?dag_id=&run_id= selects one run, and an address
// without these names selects the list of tables.
import { html, render } from "../vendor/htm-preact.module.js";
import { RunPage } from "./run.js";
import { TablePage } from "./table.js";
import { TablesPage } from "./tables.js";

// A task's link opens Airflow's own page, which shows this page in a frame. In this case the address of the outer page
// names the table, and the address of the frame has no query.
const isFramed = window.parent !== window && window.location.search === "";
const outer = new URLSearchParams(isFramed ? window.parent.location.search : "");
const asked = new URLSearchParams(outer.has("table") ? { table: outer.get("table") } : window.location.search);
const page = document.getElementById("page");

function chosen() {
  if (asked.get("table")) return html`<${TablePage} id=${asked.get("table")} />`;
  if (asked.get("dag_id")) return html`<${RunPage} asked=${Object.fromEntries(asked)} />`;
  return html`<${TablesPage} />`;
}

page.replaceChildren();
render(chosen(), page);
