/** Bindings, roles and notes, as the answers of the explorer have them. */
import type { Schemas } from '../../api/client';
import { pageOf } from '../../api/kinds';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { Notice } from '../../ui/state';

export type AccessRule = Schemas['AccessRuleList']['items'][number];
type Binding = AccessRule['binding'];
type Role = AccessRule['role'];
type Subject = AccessRule['subject'];

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };

export const BindingLink = ({ of: { kind, name, namespace, userBinding } }: { of: Binding }) => (
  <a href={href(userBinding ? `/bindings/${userBinding}` : pageOf({ ...rbac, resource: `${kind.toLowerCase()}s` }, { name, namespace }))}>
    {userBinding ?? name}
  </a>
);

export const RoleLink = ({ of: { kind, name, namespace } }: { of: Role }) => (
  <a href={href(pageOf({ ...rbac, resource: `${kind.toLowerCase()}s` }, { name, namespace }))}>{name}</a>
);

export const inNamespace = (namespace: string): string => namespace || t('explorer.everywhere');

export const nameOf = ({ kind, name, namespace }: Subject): string => (kind === 'ServiceAccount' ? `${namespace ?? ''}/${name}` : name);

export const kindOf = (kind: Subject['kind']): string => t(`explorer.kind.${kind}`);

/** Facts that an answer does not show. */
export function Notes({ notes }: { notes: readonly Schemas['AccessRuleList']['notes'][number][] }) {
  return (
    <>
      {notes.map((note) => (
        <Notice key={note} kind={note === 'SystemMasters' ? 'info' : 'warn'}>
          {t(`explorer.note.${note}`)}
        </Notice>
      ))}
    </>
  );
}
