import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { Load } from '../api/load';
import { t } from '../text/text';
import { Button } from './button';
import { Closing } from './dialog';
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
  if (data === undefined)
    return (
      <>
        {problem ? <Failure problem={problem} onRetry={() => void load.reload()} /> : <Skeleton />}
        <WayOut />
      </>
    );
  return (
    <>
      <Old problem={problem} lost={lost} onRetry={() => void load.reload()} />
      <Held problem={problem} lost={lost}>
        {children(data)}
      </Held>
    </>
  );
}

/** Cancels a dialog whose content is not there. */
export function WayOut() {
  const close = useContext(Closing);
  return (
    close && (
      <div class="buttons">
        <Button kind="quiet" onClick={close}>
          {t('action.cancel')}
        </Button>
      </div>
    )
  );
}
