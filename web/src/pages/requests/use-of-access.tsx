import type { AccessRequest } from '../../app/own-requests';
import { ActivityLink } from '../activity/activity-link';

/** Leads to what the requester did while the access lasted, where it was given. */
export function UseOfAccess({ request: { spec, status = {} }, children }: { request: AccessRequest; children: string }) {
  const { begin, until, ended } = status;
  if (begin === undefined || until === undefined || begin === ended) return null;
  const [namespace, ...others] = spec.namespaces ?? [];
  return (
    <ActivityLink of={{ actor: spec.requester, from: begin, to: ended ?? until, namespace: others.length > 0 ? undefined : namespace }}>
      {children}
    </ActivityLink>
  );
}
