import { readFileSync, writeFileSync } from 'node:fs';
import { configurationReference } from '../src/config/reference.ts';
import { withAuditTable } from '../src/http/audit-events.ts';

const operations = new URL('../docs/operations.md', import.meta.url);
writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationReference());
writeFileSync(operations, withAuditTable(readFileSync(operations, 'utf8')));
