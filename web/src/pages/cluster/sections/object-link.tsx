import { type Kind, pageOf } from '../../../api/kinds';
import { href } from '../../../app/router';

interface ObjectLinkProps {
  kinds: readonly Kind[];
  /** `''` for the core group. */
  group?: string;
  kind: string;
  name: string;
  namespace?: string | undefined;
}

/** The name of an object as a link to its page, where the cluster serves its kind. */
export function ObjectLink({ kinds, group = '', kind, name, namespace }: ObjectLinkProps) {
  const found = kinds.find((one) => one.kind === kind && one.group === group && one.isPreferred);
  if (found === undefined) return <>{name}</>;
  return <a href={href(pageOf(found, { name, ...(found.isNamespaced && { namespace }) }))}>{name}</a>;
}
