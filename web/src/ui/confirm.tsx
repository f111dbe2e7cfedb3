import type { ComponentChildren } from 'preact';
import { Dialog } from './dialog';
import { Form } from './form';

interface ConfirmProps {
  title: string;
  /** Text of the button, if it differs from the title. */
  action?: string;
  onConfirm: (signal: AbortSignal) => Promise<void>;
  onClose: () => void;
  children?: ComponentChildren;
}

/** Asks for confirmation before an action that ends or deletes something. */
export const Confirm = ({ title, action = title, onConfirm, onClose, children }: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    <Form action={action} kind="danger" onSubmit={onConfirm} onCancel={onClose} isFocusedOnCancel>
      {children}
    </Form>
  </Dialog>
);
