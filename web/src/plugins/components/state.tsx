import { useLayoutEffect, useRef } from 'preact/hooks';
import type { State } from '../../../template/atrium-console';
import { useLoad } from '../../api/load';
import { asProblem } from '../../api/problem';
import { Loaded } from '../../ui/loaded';
import { Empty, Failure, Notice, Skeleton } from '../../ui/state';
import { endParts } from './part';

export function StateView(state: State) {
  switch (state.is) {
    case 'loading':
      return <Skeleton />;
    case 'empty':
      return <Empty text={state.text} />;
    case 'failed':
      return <Failure problem={asProblem(state.error)} onRetry={() => state.retry()} />;
    default:
      return <Notice kind={state.is}>{state.text}</Notice>;
  }
}

interface LoadViewProps<T> {
  /** Key of the load, unique for each. */
  id: string;
  read: (signal: AbortSignal) => Promise<T>;
  show: (host: HTMLElement, value: T) => void;
}

/** Shows a value once it is read, and the state of the request until then. */
export function LoadView<T>({ id, read, show }: LoadViewProps<T>) {
  const load = useLoad(id, read);
  return <Loaded load={load}>{(value) => <Filled value={value} fill={show} />}</Loaded>;
}

function Filled<T>({ value, fill }: { value: T; fill: (host: HTMLElement, value: T) => void }) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const place = host.current;
    if (place === null) return;
    fill(place, value);
    return () => {
      endParts(place);
      place.replaceChildren();
    };
  }, [value]);
  return <div ref={host} class="plugin-place" />;
}
