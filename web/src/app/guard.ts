import { useLayoutEffect } from 'preact/hooks';
import { t } from '../text/text';
import { setGuard } from './router';

/** Asks before the page is left while it has unsaved changes. Set with the rendered change: an effect after the paint would be late. */
export function useGuard(isUnsaved: boolean): void {
  useLayoutEffect(() => {
    setGuard(isUnsaved ? () => confirm(t('form.leave')) : undefined);
    return () => setGuard(undefined);
  }, [isUnsaved]);
}
