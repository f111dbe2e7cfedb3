import type { ListProperties } from '../collection/properties.ts';
import type { UserRow } from './row.ts';

/**
 * Properties by which users are selected, filtered and sorted. Field selectors work here even if the API server does not support selectable
 * fields.
 */
export const userProperties: ListProperties<UserRow> = {
  searched: new Map<string, (row: UserRow) => string | readonly string[]>([
    ['name', (row) => row.name],
    ['email', (row) => row.lowerEmail],
    ['username', (row) => row.lowerUsername],
    ['account', (row) => row.lowerAccount],
    ['mail', (row) => row.lowerMail],
    ['mobile', (row) => row.lowerMobile],
    ['connector_name', (row) => row.traits.lowerConnectorName],
    ['groups', (row) => row.traits.lowerGroups],
  ]),
  search: ['name', 'email', 'username'],
  compared: new Map<string, (row: UserRow) => string>([
    ['state', (row) => row.traits.state],
    ['phase', (row) => row.traits.phase],
    ['connector_id', (row) => row.traits.connectorID],
    ['connector_type', (row) => row.traits.connectorType],
    ['valid', (row) => row.traits.valid],
    ['is_admin', (row) => row.traits.isAdmin],
    ['is_disabled', (row) => row.traits.isDisabled],
  ]),
  sorted: new Map<string, (row: UserRow) => string | number | undefined>([
    ['name', (row) => row.name],
    ['email', (row) => row.lowerEmail || undefined],
    ['username', (row) => row.usernameOrder || undefined],
    ['creationTimestamp', (row) => row.creationSeconds],
    ['last_login_time', (row) => row.lastLoginSeconds],
    ['phase', (row) => row.traits.phase || undefined],
    ['connector_name', (row) => row.traits.connectorNameOrder || undefined],
  ]),
  selectable: new Map<string, (row: UserRow) => string>([
    ['metadata.name', (row) => row.name],
    ['spec.email', (row) => row.email],
    ['spec.username', (row) => row.username],
    ['spec.connector_id', (row) => row.traits.connectorID],
    ['spec.connector_type', (row) => row.traits.connectorType],
    ['spec.state', (row) => row.traits.state],
    ['spec.valid', (row) => row.traits.valid],
    ['spec.is_disabled', (row) => row.traits.isDisabled],
    ['status.phase', (row) => row.traits.phase],
  ]),
  defaultSort: 'a,username',
};
