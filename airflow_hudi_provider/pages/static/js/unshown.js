// The page of a table that does not exist yet or cannot be read: the table's failed runs, and what Airflow knows about it.
import { html } from "../vendor/htm-preact.module.js";
import { LastFailures, reasonOfAbsence } from "./failures.js";
import { usersOf } from "./overview.js";
import { Facts, Failure, Section, Title } from "./parts.js";

const About = ({ table }) => html`<${Section} title="About this table"><${Facts} facts=${usersOf(table)} /><//>`;

export const NotCreated = ({ table, overview, refresh }) => html`
  <${Title} table=${table} status="absent" ms=${overview.read_ms} isReading=${overview.isReading} refresh=${refresh} />
  <div class="notice">
    <strong>This table does not exist yet.</strong>
    <p>The first successful write creates the table. ${reasonOfAbsence(table)}</p>
  </div>
  <${LastFailures} table=${table} />
  <${About} table=${table} />
`;

export const Unreadable = ({ table, overview, refresh }) => html`
  <${Title} table=${table} status="unreadable" ms=${overview.read_ms} isReading=${overview.isReading} refresh=${refresh} />
  <${Failure} error=${overview.error} />
  <${LastFailures} table=${table} />
  <${About} table=${table} />
`;
