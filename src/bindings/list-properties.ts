import type { ListProperties } from '../collection/properties.ts';
import type { UserBindingRow } from './row.ts';

const lower = (texts: readonly string[]): string[] => texts.map((text) => text.toLowerCase());

/** Properties that select, filter and sort UserBindings. Selection also works on API servers without selectable fields. */
export const bindingProperties: ListProperties<UserBindingRow> = {
  searched: new Map<string, (row: UserBindingRow) => string | readonly string[]>([
    ['name', (row) => row.name],
    ['roleRef', (row) => row.roleRef.toLowerCase()],
    ['subject', (row) => lower(row.subjects.map(({ name }) => name))],
    ['namespace', (row) => row.namespaces],
    ['project', (row) => lower(row.projects)],
  ]),
  search: ['name', 'roleRef', 'subject'],
  compared: new Map<string, (row: UserBindingRow) => string>([
    ['scope', (row) => row.scope],
    ['phase', (row) => row.phase],
  ]),
  sorted: new Map<string, (row: UserBindingRow) => string | number | undefined>([
    ['name', (row) => row.name],
    ['roleRef', (row) => row.roleRef],
    ['scope', (row) => row.scope],
    ['phase', (row) => row.phase || undefined],
    ['expiresAt', (row) => row.expiresAt],
    ['subject', (row) => row.subjects[0]?.name.toLowerCase()],
    ['namespace', (row) => row.namespaces[0]],
    ['creationTimestamp', (row) => row.creationSeconds],
  ]),
  selectable: new Map<string, (row: UserBindingRow) => string>([
    ['metadata.name', (row) => row.name],
    ['spec.roleRef', (row) => row.roleRef],
    ['spec.scope', (row) => row.scope],
    ['status.phase', (row) => row.phase],
  ]),
  defaultSort: 'a,name',
};
