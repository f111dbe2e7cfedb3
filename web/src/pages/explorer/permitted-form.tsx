import type { ComponentChildren } from 'preact';
import { may, type Right, useRights } from '../../app/rights';
import { WhyButton } from '../../app/why';
import { t } from '../../text/text';
import { Form } from '../../ui/form';

interface PermittedFormProps {
  action: string;
  /** Right that the question needs. */
  right: Right;
  onSubmit: (signal: AbortSignal) => Promise<void>;
  isSubmittedAtOnce?: boolean;
  children: ComponentChildren;
}

export const listBindings = (resource: 'rolebindings' | 'clusterrolebindings', namespace = ''): Right => ({
  verb: 'list',
  group: 'rbac.authorization.k8s.io',
  resource,
  ...(namespace && { namespace }),
});

/** A form that callers without the right cannot send. The page gives the reason. */
export function PermittedForm({ right, children, ...form }: PermittedFormProps) {
  useRights([right]);
  return (
    <Form {...form} isDisabled={may(right) !== true}>
      {children}
      {may(right) === false && (
        <p class="muted">
          {t('explorer.mayNot')} <WhyButton right={right} />
        </p>
      )}
    </Form>
  );
}
