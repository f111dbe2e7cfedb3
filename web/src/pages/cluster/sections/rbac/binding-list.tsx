import type { ComponentChildren } from 'preact';
import type { ClusterObject } from '../../../../api/objects';
import { may, type Right, useRights } from '../../../../app/rights';
import { t } from '../../../../text/text';
import { Empty, Notice } from '../../../../ui/state';
import { RelatedObjects } from '../related/related-objects';
import type { SectionProps } from '../section';

const group = 'rbac.authorization.k8s.io';
/** RBAC has no selector for roles and subjects, and bindings are small. */
const limit = 2000;
const shownBindings = 100;

interface BindingListProps {
  kinds: SectionProps['kinds'];
  resource: 'rolebindings' | 'clusterrolebindings';
  namespace?: string | undefined;
  /** The namespace to show to callers who may not list all. */
  fallback?: string | undefined;
  matches: (binding: ClusterObject) => boolean;
  children: (bindings: readonly ClusterObject[]) => ComponentChildren;
}

/** The bindings that match, live, of all that the caller may list. */
export function BindingList({ kinds, resource, namespace, fallback, matches, children }: BindingListProps) {
  const all: Right = { verb: 'list', group, resource };
  useRights(fallback === undefined ? [] : [all]);
  const isPart = fallback !== undefined && may(all) === false;
  return (
    <RelatedObjects {...{ kinds, limit }} id={`${resource}.${group}`} namespace={isPart ? fallback : namespace}>
      {(bindings, isCut) => {
        const found = bindings.filter(matches);
        return (
          <>
            {isPart && <Notice kind="info">{t('bound.onlyNamespace', { namespace: fallback })}</Notice>}
            {found.length === 0 ? !isCut && <Empty text={t('bound.none')} /> : children(found.slice(0, shownBindings))}
            {found.length > shownBindings && <p class="muted">{t('bound.more', { count: found.length - shownBindings })}</p>}
          </>
        );
      }}
    </RelatedObjects>
  );
}
