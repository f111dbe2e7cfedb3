import { href } from '../../../../app/router';
import { ObjectLink } from '../object-link';
import type { SectionProps } from '../section';
import type { Subject } from './bindings';

/** A subject as a link: users and groups have pages in the console, ServiceAccounts in the cluster. */
export function SubjectName({ kinds, subject: { kind, name, namespace } }: { kinds: SectionProps['kinds']; subject: Subject }) {
  // Users and groups of the control plane itself are none of Atrium.
  if (name.startsWith('system:')) return <code>{name}</code>;
  const query = new URLSearchParams({ q: name });
  if (kind === 'User') return <a href={href(`/users?${query}`)}>{name}</a>;
  if (kind !== 'Group') return <ObjectLink {...{ kinds, kind, name, namespace }} />;
  const isLocal = name.startsWith('local:');
  return <a href={href(isLocal ? `/groups/${encodeURIComponent(name.slice('local:'.length))}` : `/groups?${query}`)}>{name}</a>;
}
