import type { ComponentChildren } from 'preact';
import type { Load } from '../api/load';
import { Failure, Notice, Skeleton } from './state';

/** The states of a load around what it shows: waiting, failed, and failed beside what was there before. */
export function Loaded<T>({ load, children }: { load: Load<T>; children: (data: T) => ComponentChildren }) {
  const [data, problem] = [load.data.value, load.error.value];
  if (data === undefined) return problem ? <Failure problem={problem} onRetry={() => void load.reload()} /> : <Skeleton />;
  return (
    <>
      {problem && <Notice>{problem.message}</Notice>}
      {children(data)}
    </>
  );
}
