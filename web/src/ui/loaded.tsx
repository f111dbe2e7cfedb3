import type { ComponentChildren } from 'preact';
import type { Load } from '../api/load';
import { Failure, Held, Old, Skeleton } from './state';

interface LoadedProps<T> {
  load: Load<T>;
  /** Time since which changes are not received. */
  lost?: Date | undefined;
  children: (data: T) => ComponentChildren;
}

/** States of a load around its content: loading, failed, and failed with earlier content. */
export function Loaded<T>({ load, lost, children }: LoadedProps<T>) {
  const [data, problem] = [load.data.value, load.error.value];
  if (data === undefined) return problem ? <Failure problem={problem} onRetry={() => void load.reload()} /> : <Skeleton />;
  return (
    <>
      <Old problem={problem} lost={lost} onRetry={() => void load.reload()} />
      <Held problem={problem} lost={lost}>
        {children(data)}
      </Held>
    </>
  );
}
