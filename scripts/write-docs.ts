import { readFileSync, writeFileSync } from 'node:fs';
import { withAuditTable } from '../src/audit/audit-events.ts';
import { configurationReference } from '../src/config/reference.ts';
import { withSourceTree } from './source-tree.ts';

const operations = new URL('../docs/operations.md', import.meta.url);
const architecture = new URL('../docs/architecture.md', import.meta.url);
writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationReference());
writeFileSync(operations, withAuditTable(readFileSync(operations, 'utf8')));
writeFileSync(architecture, withSourceTree(readFileSync(architecture, 'utf8')));
