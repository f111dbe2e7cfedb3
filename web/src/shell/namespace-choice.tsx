import type { ComponentType } from 'preact';
import { fetchKinds, type Kind, kindInPath } from '../api/kinds';
import { useLoad } from '../api/load';
import { match } from '../app/path-pattern';
import { path } from '../app/router';

type Field = ComponentType<{ kind: Kind; current: string }>;

/** Chooses the namespace, on pages of a namespaced kind. */
export function NamespaceChoice() {
  const place = placeOf(path.value);
  const kinds = useLoad('kinds', fetchKinds).data.value;
  const kind = place && kindInPath(kinds, place);
  const NamespaceField = useLoad(kind?.isNamespaced ? 'namespace field' : undefined, loadField).data.value?.Field;
  return kind?.isNamespaced && NamespaceField ? <NamespaceField kind={kind} current={place?.namespace ?? ''} /> : null;
}

const loadField = async (): Promise<{ Field: Field }> => ({ Field: (await import('../app/namespace-field')).NamespaceField });

const placeOf = (at: string): Record<string, string> | undefined =>
  match('/r/:group/:version/:resource/ns/:namespace/:name?/:tab?', at) ??
  match('/r/:group/:version/:resource', at) ??
  eventsOf(match('/events/:namespace?', at));

const eventsOf = (place: Record<string, string> | undefined) => place && { group: '', version: 'v1', resource: 'events', ...place };
