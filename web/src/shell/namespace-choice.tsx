import { useEffect } from 'preact/hooks';
import { eventsPage, fetchKinds, type Kind, kindInPath, pageOf } from '../api/kinds';
import { useLoad } from '../api/load';
import { chooseNamespace, namespace, useNamespaces } from '../app/namespace';
import { match } from '../app/path-pattern';
import { navigate, path, query } from '../app/router';
import { t } from '../text/text';
import { isWithin } from './pages';

/** Chooses the namespace, on pages of a namespaced kind. */
export function NamespaceChoice() {
  const place = placeOf(path.value);
  const kinds = useLoad('kinds', fetchKinds).data.value;
  const kind = place && kindInPath(kinds, place);
  return kind?.isNamespaced ? <Choice kind={kind} current={place?.namespace ?? ''} /> : null;
}

const placeOf = (at: string): Record<string, string> | undefined =>
  match('/r/:group/:version/:resource/ns/:namespace/:name?/:tab?', at) ??
  match('/r/:group/:version/:resource', at) ??
  eventsOf(match('/events/:namespace?', at));

const eventsOf = (place: Record<string, string> | undefined) => place && { group: '', version: 'v1', resource: 'events', ...place };

function Choice({ kind, current }: { kind: Kind; current: string }) {
  const load = useNamespaces(kind);
  const names = load.data.value?.items.map(({ metadata }) => metadata.name) ?? [];
  useEffect(() => {
    if (current !== namespace.value) chooseNamespace(current);
  }, [current]);
  function choose(select: HTMLSelectElement): void {
    const next = select.value;
    const kept = query.value.toString();
    const page = isWithin(path.value, eventsPage()) ? eventsPage(next) : pageOf(kind, next ? { namespace: next } : {});
    if (navigate(page + (kept && `?${kept}`))) chooseNamespace(next);
    else select.value = current;
  }
  return (
    <label class="namespace">
      <span class="hidden">{t('cluster.namespace')}</span>
      <select value={current} onChange={({ currentTarget }) => choose(currentTarget)}>
        <option value="">{t('cluster.allNamespaces')}</option>
        {current !== '' && !names.includes(current) && <option value={current}>{current}</option>}
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
