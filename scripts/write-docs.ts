/**
 * Writes the generated parts of the documentation: the settings, the table of audit events, and the folders of the architecture.
 *
 * Run after a change of a setting, of an audit event or of a folder: npm run docs
 */
import './help.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { withAuditTable } from '../src/audit/audit-events.ts';
import { parseConfig } from '../src/config/load.ts';
import { configurationReference } from '../src/config/reference.ts';
import { rightsOf, withRightsTable } from '../src/rights.ts';
import { withSourceTree } from './source-tree.ts';

/** Configuration of the table of rights. */
const documented = '{ profile: team, audit: { store: { url: http://audit-store } } }';

const operations = new URL('../docs/operations.md', import.meta.url);
const install = new URL('../docs/install.md', import.meta.url);
const architecture = new URL('../docs/architecture.md', import.meta.url);
writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationReference());
writeFileSync(operations, withAuditTable(readFileSync(operations, 'utf8')));
writeFileSync(install, withRightsTable(readFileSync(install, 'utf8'), rightsOf(parseConfig({ yaml: documented }))));
writeFileSync(architecture, withSourceTree(readFileSync(architecture, 'utf8')));
