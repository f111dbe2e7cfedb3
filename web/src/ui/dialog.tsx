import { type ComponentChildren, createContext } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../text/text';
import { Button } from './button';

interface DialogProps {
  title: string;
  onClose: () => void;
  /** Takes the width of the screen, for a comparison of texts. */
  isWide?: boolean;
  children: ComponentChildren;
}

/** A form sets it while its dialog must stay open. */
export const StaysOpen = createContext({ current: false });

/** Closes the dialog around content that may have no button for it; unset within a form, which has one. */
export const Closing = createContext<(() => void) | undefined>(undefined);

/** Shows a dialog above the page while it is mounted. The browser keeps the focus in it and restores it afterwards. */
export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const staysOpen = useRef(false);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  // Chromium closes a dialog at the second Escape, even if the first was prevented.
  const close = () => (staysOpen.current ? dialog.current?.showModal() : onClose());
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        if (staysOpen.current) event.preventDefault();
      }}
      onClose={close}
    >
      <h2 id={id}>{title}</h2>
      <StaysOpen.Provider value={staysOpen}>
        <Closing.Provider value={onClose}>{children}</Closing.Provider>
      </StaysOpen.Provider>
    </dialog>
  );
}

interface LastLineProps {
  onClose: () => void;
  /** The dialog shows the result of an action. */
  isDone?: boolean;
  /** Buttons that stand before. */
  children?: ComponentChildren;
}

/** Ends a dialog that asks nothing: one button closes it. */
export const LastLine = ({ onClose, isDone = false, children }: LastLineProps) => (
  <div class="buttons">
    {children}
    <Button kind="main" onClick={onClose}>
      {t(isDone ? 'action.done' : 'action.close')}
    </Button>
  </div>
);
