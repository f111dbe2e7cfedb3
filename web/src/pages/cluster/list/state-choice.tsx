import { useEffect } from 'preact/hooks';
import { useLoad } from '../../../api/load';
import { offeredPath } from '../../../api/offered';
import { setQuery } from '../../../app/router';
import { count, t } from '../../../text/text';
import { shownState } from '../cells';
import type { ListProps } from './list-frame';
import { countStates, type Offered } from './offered-list';

const countAgainMs = 1000;

interface StateChoiceProps extends ListProps, Pick<Offered, 'is' | 'asked' | 'windows'> {
  state: string;
}

/** Shows the number of objects in each state, among all that the caller may see. */
export function StateChoice({ kind, namespace, state, is, asked, windows: { list, waiting } }: StateChoiceProps) {
  const load = useLoad(`${offeredPath(kind, namespace)}/summary?${JSON.stringify(asked)}`, (signal) =>
    countStates({ kind, namespace }, asked, state, signal),
  );
  useEffect(() => {
    // The first rows are requested together with the first counts.
    if (list.revision.value <= 1 && waiting.value === 0) return;
    const timer = setTimeout(() => void load.reload(), countAgainMs);
    return () => clearTimeout(timer);
  }, [load, list.revision.value, waiting.value]);
  const values = (load.data.value?.values ?? []).filter(({ value }) => value !== null && value !== '');
  return (
    <label>
      <span class="hidden">{t('cluster.state')}</span>
      <select value={is} onChange={({ currentTarget }) => setQuery({ is: currentTarget.value })}>
        <option value="">{t('cluster.anyState')}</option>
        {is !== '' && !values.some(({ value }) => String(value) === is) && <option value={is}>{shownState(is)}</option>}
        {values.map(({ value, count: number }) => (
          <option key={String(value)} value={String(value)}>
            {`${shownState(String(value))} (${count(number)})`}
          </option>
        ))}
      </select>
    </label>
  );
}
