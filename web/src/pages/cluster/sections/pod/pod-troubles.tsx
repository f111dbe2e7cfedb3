import { troublesOf } from '@atrium/objects/pod-containers.ts';
import { useEffect, useRef } from 'preact/hooks';
import { apiPath, type Kind, pageOf } from '../../../../api/kinds';
import { useLoad } from '../../../../api/load';
import { type ClusterObject, getJson } from '../../../../api/objects';
import { href } from '../../../../app/router';
import { t } from '../../../../text/text';
import type { Row } from '../../list/table-list';
import { TroubleNotice } from './trouble-notice';

/** Pods in one state fail for one reason most of the time: a pod of each state is read. */
const shownStates = 3;

const wordOf = ({ cells }: Row): string => String(cells.get('Status') ?? '');

/** `ContainerCreating` and `Init:0/1` are on their way. A pending pod may fit on no node. */
const isFine = (word: string): boolean =>
  /^(?:Running|Completed|Succeeded|Terminating|ContainerCreating|PodInitializing|Init:\d+\/\d+|)$/.test(word);

/** Explains why pods of a list do not run, with one pod for each state. */
export function PodTroubles({ kind, rows }: { kind: Kind; rows: readonly Row[] }) {
  const states = Map.groupBy(rows, wordOf);
  return (
    <>
      {[...states]
        .filter(([word]) => !isFine(word))
        .slice(0, shownStates)
        .map(([word, alike]) => alike[0] && <PodTrouble key={`${word}/${alike[0].metadata.name}`} {...{ kind, alike }} first={alike[0]} />)}
    </>
  );
}

function PodTrouble({ kind, first: { metadata }, alike }: { kind: Kind; first: Row; alike: readonly Row[] }) {
  const { name, namespace, resourceVersion } = metadata;
  // The right to list is the one that the caller has.
  const path = `${apiPath(kind, { namespace })}?${new URLSearchParams({ fieldSelector: `metadata.name=${name}`, limit: '1' })}`;
  const load = useLoad(`trouble/${path}`, (signal) => getJson<{ items: readonly ClusterObject[] | null }>(path, signal));
  const readFor = useRef(resourceVersion);
  useEffect(() => {
    // The load itself sends the first request.
    if (readFor.current === resourceVersion) return;
    readFor.current = resourceVersion;
    void load.reload();
  }, [resourceVersion]);
  const pod = load.data.value?.items?.[0];
  const trouble = pod && troublesOf(pod)[0];
  if (pod === undefined || trouble === undefined) return null;
  return (
    <TroubleNotice {...{ kind, pod, trouble }}>
      <a href={href(pageOf(kind, metadata))}>{name}</a> {alike.length > 1 && t('pods.alike', { count: alike.length - 1 })}{' '}
    </TroubleNotice>
  );
}
