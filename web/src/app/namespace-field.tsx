import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { eventsPage, type Kind, pageOf } from '../api/kinds';
import { t } from '../text/text';
import { Combobox } from '../ui/combobox';
import { chooseNamespace, namespace, useNamespaces } from './namespace';
import { navigate, path, query } from './router';

interface NamespaceFieldProps {
  kind: Kind;
  /** `''` for all namespaces. */
  current: string;
}

/** Names of namespaces (RFC 1123 label). */
const isName = (text: string): boolean => /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(text);

/** Chooses the namespace of a page. Namespaces that the user may not list can be typed. */
export function NamespaceField({ kind, current }: NamespaceFieldProps) {
  const names = useNamespaces(kind).data.value?.items.map(({ metadata }) => metadata.name) ?? [];
  const all = t('cluster.allNamespaces');
  const shown = current || all;
  const value = useSignal(shown);
  useEffect(() => {
    value.value = shown;
    if (current !== namespace.value) chooseNamespace(current);
  }, [current, shown]);
  function choose(chosen: string): void {
    const next = chosen === all ? '' : chosen;
    const kept = query.value.toString();
    const isOfEvents = path.value === eventsPage() || path.value.startsWith(`${eventsPage()}/`);
    const page = isOfEvents ? eventsPage(next) : pageOf(kind, next ? { namespace: next } : {});
    if (navigate(page + (kept && `?${kept}`))) chooseNamespace(next);
    else value.value = shown;
  }
  return (
    <div class="namespace">
      <Combobox
        id="namespace"
        label={t('cluster.namespace')}
        value={value}
        suggestions={[all, ...names]}
        attributes={{ 'aria-label': t('cluster.namespace'), title: shown }}
        choice={{ shown, onChoose: choose, other: (text) => (isName(text) ? { value: text, label: t('cluster.notListed') } : undefined) }}
      />
    </div>
  );
}
