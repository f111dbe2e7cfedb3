import type { ComponentChildren } from 'preact';
import { apiPath, type Kind } from '../../../../api/kinds';
import type { Selection } from '../../../../api/list-path';
import { useLoad } from '../../../../api/load';
import { type ClusterObject, getJson } from '../../../../api/objects';
import { useWatch } from '../../../../api/watch';
import { t } from '../../../../text/text';
import { Loaded } from '../../../../ui/loaded';
import { FirstOnly } from '../../../../ui/state';
import { findKind } from '../find-kind';
import { GuardedList } from '../guarded-part';

/** Objects come whole: more of them would take megabytes. */
const usualLimit = 500;

interface RelatedProps {
  namespace?: string | undefined;
  selection?: Selection;
  /** Unset: 500, a good size for large objects. */
  limit?: number;
  /** `isPart`: more objects exist than were read, so that the page must not say that there is none. */
  children: (objects: readonly ClusterObject[], isPart: boolean) => ComponentChildren;
}

/**
 * Reads whole objects that belong to another one, where a Table has too little of them: live, and only for callers who may list them.
 *
 * @param id the kind, as kubectl names it
 */
export function RelatedObjects({ kinds, id, ...props }: RelatedProps & { kinds: readonly Kind[]; id: string }) {
  const kind = findKind(kinds, id);
  if (kind === undefined) return <p class="muted">{t('object.notServed', { kind: id })}</p>;
  return (
    <GuardedList kind={kind} namespace={props.namespace}>
      {(mayWatch) => <Followed {...props} {...{ kind, mayWatch }} />}
    </GuardedList>
  );
}

interface ObjectList {
  items: readonly ClusterObject[] | null;
  metadata: { resourceVersion: string; continue?: string };
}

function Followed({
  kind,
  namespace,
  selection = {},
  limit = usualLimit,
  mayWatch,
  children,
}: RelatedProps & { kind: Kind; mayWatch: boolean }) {
  const path = apiPath(kind, { namespace });
  const query = new URLSearchParams({ ...selection, limit: String(limit) });
  const load = useLoad(`related/${path}?${query}`, (signal) => getJson<ObjectList>(`${path}?${query}`, signal));
  const { resourceVersion } = load.data.value?.metadata ?? {};
  const lost = useWatch({ ...selection, path: mayWatch ? path : undefined, resourceVersion }, load.reload);
  return (
    <Loaded load={load} lost={lost.value}>
      {({ items, metadata }) => (
        <>
          <FirstOnly isPart={Boolean(metadata.continue)} count={items?.length ?? 0} kind={kind.title} />
          {children(items ?? [], Boolean(metadata.continue))}
        </>
      )}
    </Loaded>
  );
}
