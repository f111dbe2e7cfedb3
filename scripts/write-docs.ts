import { readFileSync, writeFileSync } from 'node:fs';
import { withAuditTable } from '../src/audit/audit-events.ts';
import { configurationReference } from '../src/config/reference.ts';

const operations = new URL('../docs/operations.md', import.meta.url);
writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationReference());
writeFileSync(operations, withAuditTable(readFileSync(operations, 'utf8')));
