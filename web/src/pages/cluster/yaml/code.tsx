import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { asProblem, type Problem } from '../../../api/problem';
import type { CompletionOptions } from '../../../editors/completion';
import type { Editor } from '../../../editors/editor';
import { Failure, Skeleton } from '../../../ui/state';

interface CodeProps {
  label: string;
  text: string;
  /** Schemas for the completion of fields. */
  completion?: CompletionOptions;
  onChange?: (text: string) => void;
}

const helpBy = async (options: CompletionOptions) => (await import('../../../editors/completion')).completing(options);

/** Editor for a text, loaded when it is first needed. Without `onChange` the text is read-only. */
export function Code({ label, text, completion, onChange }: CodeProps) {
  const { host, problem, isThere } = useHeavy(async (place) => {
    const [{ startEditor }, extensions] = await Promise.all([import('../../../editors/editor'), completion ? helpBy(completion) : []]);
    const started = startEditor(place, { label, text, isReadOnly: onChange === undefined, extensions, ...(onChange && { onChange }) });
    editor.current = started;
    return started;
  });
  const editor = useRef<Editor>(undefined);
  useEffect(() => {
    if (onChange === undefined) editor.current?.setText(text);
  }, [text]);
  return <Frame host={host} problem={problem} isThere={isThere} />;
}

interface ChangesProps {
  label: string;
  before: string;
  after: string;
}

/** Shows the difference between two texts. */
export function Changes({ label, before, after }: ChangesProps) {
  const { host, problem, isThere } = useHeavy(async (place) => {
    const { startDiff } = await import('../../../editors/diff');
    return startDiff(place, { label, before, after });
  });
  return <Frame host={host} problem={problem} isThere={isThere} />;
}

function useHeavy(start: (host: HTMLElement) => Promise<{ stop(): void }>) {
  const host = useRef<HTMLDivElement>(null);
  const problem = useSignal<Problem | undefined>(undefined);
  const isThere = useSignal(false);
  useEffect(() => {
    let stop: (() => void) | undefined;
    let isOver = false;
    const place = host.current;
    if (place === null) return;
    start(place).then(
      (started) => {
        stop = () => started.stop();
        isThere.value = true;
        if (isOver) stop();
      },
      (error: unknown) => {
        problem.value = asProblem(error);
      },
    );
    return () => {
      isOver = true;
      stop?.();
    };
  }, []);
  return { host, problem, isThere };
}

function Frame({ host, problem, isThere }: ReturnType<typeof useHeavy>) {
  if (problem.value) return <Failure problem={problem.value} onRetry={() => location.reload()} />;
  return (
    <div class="code-frame">
      {!isThere.value && <Skeleton rows={12} />}
      <div class="code-host" ref={host} />
    </div>
  );
}
