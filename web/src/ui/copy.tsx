import { useSignal } from '@preact/signals';
import { Check, Copy as CopyIcon } from 'lucide';
import { t } from '../text/text';
import { Button } from './button';

/** Text to copy, with a button that copies it. */
export function Copy({ text, label }: { text: string; label: string }) {
  const isDone = useSignal(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text);
    isDone.value = true;
    setTimeout(() => {
      isDone.value = false;
    }, 2000);
  }
  return (
    <section class="copy" aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1) */}
      <pre tabIndex={0}>{text}</pre>
      <Button
        icon={isDone.value ? Check : CopyIcon}
        label={t('action.copy')}
        kind="quiet"
        onClick={() => void copy().catch(() => undefined)}
      />
    </section>
  );
}
