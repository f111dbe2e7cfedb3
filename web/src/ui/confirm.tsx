import type { ComponentChildren } from 'preact';
import { Dialog } from './dialog';
import { Form } from './form';

interface ConfirmProps {
  title: string;
  /** What the button does, if the title does not say it. */
  action?: string;
  onConfirm: () => Promise<void>;
  onClose: () => void;
  children?: ComponentChildren;
}

/** Before something that ends or deletes. */
export const Confirm = ({ title, action = title, onConfirm, onClose, children }: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    <Form action={action} kind="danger" onSubmit={onConfirm} onCancel={onClose}>
      {children}
    </Form>
  </Dialog>
);
