import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { asProblem } from '../api/problem';
import { overlay } from '../app/keys';
import { loadTexts } from '../text/text';
import { toast } from '../ui/toast';

interface OverlayProps {
  onClose: () => void;
}

const texts = () => loadTexts('overlays');

const parts = {
  palette: async (): Promise<ComponentType<OverlayProps>> => (await Promise.all([import('./palette'), texts()]))[0].Palette,
  keys: async (): Promise<ComponentType<OverlayProps>> => (await Promise.all([import('./keys-help'), texts()]))[0].KeysHelp,
  messages: async (): Promise<ComponentType<OverlayProps>> => (await Promise.all([import('./messages'), texts()]))[0].Messages,
  why: async (): Promise<ComponentType<OverlayProps>> => (await Promise.all([import('./why'), texts()]))[0].Why,
  ask: async (): Promise<ComponentType<OverlayProps>> =>
    (await Promise.all([import('../pages/access/ask-dialog'), loadTexts('access')]))[0].AskDialog,
};

interface Shown {
  /** An overlay that was closed is mounted again by its next opening. */
  id: number;
  Part: ComponentType<OverlayProps>;
}

/** Shows the overlay above the page. Its code is loaded at first use. */
export function Overlays() {
  const shown = useSignal<Shown | undefined>(undefined);
  useSignalEffect(() => {
    const wanted = overlay.value;
    if (wanted === undefined) {
      shown.value = undefined;
      return;
    }
    parts[wanted.name]().then(
      (Part) => {
        if (overlay.peek() === wanted) shown.value = { id: wanted.id, Part };
      },
      (error: unknown) => {
        if (overlay.peek() !== wanted) return;
        overlay.value = undefined;
        toast('bad', asProblem(error).message);
      },
    );
  });
  const current = shown.value;
  if (current === undefined) return null;
  const close = () => {
    // A browser reports the closing of a dialog late. Another overlay may have been opened by then.
    if (overlay.peek()?.id === current.id) overlay.value = undefined;
  };
  return <current.Part key={current.id} onClose={close} />;
}
