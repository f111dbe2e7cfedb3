import { useSignal } from '@preact/signals';
import { Check, Copy as CopyIcon } from 'lucide';
import { t } from '../text/text';
import { Button } from './button';

/** Button that copies a text. @param isNamed shows its name beside the icon */
export function CopyButton({ text, isNamed = false }: { text: string; isNamed?: boolean }) {
  const isDone = useSignal(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text);
    isDone.value = true;
    setTimeout(() => {
      isDone.value = false;
    }, 2000);
  }
  const shown = { icon: isDone.value ? Check : CopyIcon, kind: 'quiet', onClick: () => void copy().catch(() => undefined) } as const;
  return isNamed ? <Button {...shown}>{t('action.copy')}</Button> : <Button {...shown} label={t('action.copy')} />;
}

/** Text to copy, with a button that copies it. */
export const Copy = ({ text, label }: { text: string; label: string }) => (
  <section class="copy" aria-label={label}>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1) */}
    <pre tabIndex={0}>{text}</pre>
    <CopyButton text={text} />
  </section>
);
