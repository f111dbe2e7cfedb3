import { typedText } from '@atrium/objects/typed-text.ts';
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Schemas } from '../../api/client';
import { refetch } from '../../api/load';
import { asProblem } from '../../api/problem';
import { randomSuffix } from '../../api/random-suffix';
import { may, useRights } from '../../app/rights';
import { t } from '../../text/text';
import { Copy } from '../../ui/copy';
import { Dialog, LastLine } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { Notice } from '../../ui/state';
import { nameOf } from './grants';
import {
  canBeRequested,
  createPolicy,
  type DryRun,
  dryRun,
  endBinding,
  leftOut,
  policyName,
  policyOf,
  rightsOf,
  simulateEnd,
  whyNotReady,
} from './proposal-steps';
import { Outcome } from './simulate';
import type { Item } from './standing';

interface ProposalProps {
  of: Item;
  onClose: () => void;
}

/** Replaces a binding by requests: a dry run first, then the policy, then the end of the binding. */
export function Proposal({ of: item, onClose }: ProposalProps) {
  const title = t('explorer.proposal.title', { name: item.binding.name });
  if (!canBeRequested(item))
    return (
      <Dialog title={title} onClose={onClose}>
        <p>{t(item.role.kind === 'Role' ? 'explorer.proposal.noRole' : 'explorer.proposal.noSubjects')}</p>
        <LastLine onClose={onClose} />
      </Dialog>
    );
  return (
    <Dialog title={title} onClose={onClose} isWide>
      <Begin of={item} onClose={onClose} />
    </Dialog>
  );
}

/** Callers who may not create policies get the policy for an administrator. */
function Begin(props: ProposalProps) {
  const rights = rightsOf(props.of);
  useRights(Object.values(rights));
  if (may(rights.propose) === undefined) return null;
  return may(rights.propose) ? <Steps {...props} /> : <HandOver {...props} />;
}

/** The policy as a manifest, and what the owner of the namespace may see of the end of the binding. */
function HandOver({ of: item, onClose }: ProposalProps) {
  const { fields, name, policy } = usePolicy(item);
  const { simulate } = rightsOf(item);
  const canSimulate = item.binding.namespace !== '' && may(simulate) === true;
  const told = useSignal<{ manifest: string; simulation?: Schemas['Simulation'] } | undefined>(undefined);
  async function propose(signal: AbortSignal): Promise<void> {
    const manifest = JSON.stringify(policy(), undefined, 2);
    told.value = { manifest, ...(canSimulate && { simulation: await simulateEnd(item, signal) }) };
  }
  if (told.value) {
    const { manifest, simulation } = told.value;
    return (
      <>
        <p>{t('explorer.proposal.handOver', { policy: name, binding: item.binding.name })}</p>
        <Copy label={t('explorer.proposal.manifest')} text={manifest} />
        <LeftOut of={item} />
        {simulation?.namespace !== undefined && (
          <Notice kind="info">{t('explorer.proposal.inNamespace', { namespace: simulation.namespace })}</Notice>
        )}
        {simulation?.rolesHidden && <Notice kind="warn">{t('explorer.proposal.rolesHidden')}</Notice>}
        {simulation && <Outcome of={simulation} />}
        <LastLine onClose={onClose} isDone />
      </>
    );
  }
  return (
    <Form action={t('explorer.proposal.show')} onSubmit={propose} onCancel={onClose}>
      <p>{t('explorer.proposal.what', { role: item.role.name })}</p>
      <Notice kind="info">{t('explorer.proposal.mayNot')}</Notice>
      <PolicyFields {...fields} />
      <LeftOut of={item} />
    </Form>
  );
}

/** Fields of a policy, and the policy of their values. */
function usePolicy(item: Item) {
  const fields = { kind: useSignal('Group'), approver: useSignal(''), hours: useSignal('8') };
  const { kind, approver, hours } = fields;
  const name = useMemo(() => policyName(item, randomSuffix()), []);
  const policy = () =>
    policyOf(item, name, { kind: kind.value === 'User' ? 'User' : 'Group', name: typedText(approver.value), hours: Number(hours.value) });
  return { fields, name, policy };
}

const PolicyFields = ({ kind, approver, hours }: ReturnType<typeof usePolicy>['fields']) => (
  <>
    <Field label={t('explorer.proposal.approverKind')} name="kind" value={kind}>
      <option value="Group">{t('explorer.kind.Group')}</option>
      <option value="User">{t('explorer.kind.User')}</option>
    </Field>
    <Field label={t('explorer.proposal.approver')} name="approver" value={approver} isRequired />
    <Field label={t('explorer.proposal.hours')} name="hours" value={hours} type="number" isRequired />
  </>
);

function Steps({ of: item, onClose }: ProposalProps) {
  const { fields, name, policy } = usePolicy(item);
  const told = useSignal<DryRun | undefined>(undefined);
  const done = useSignal<Done | undefined>(undefined);
  async function tryOut(signal: AbortSignal): Promise<void> {
    told.value = await dryRun(item, policy(), signal);
  }
  async function apply(signal: AbortSignal): Promise<void> {
    if (told.value === undefined) return;
    done.value = await applied(item, { policy: policy(), dryRun: told.value }, signal);
    void refetch('standing');
  }
  if (done.value) return <Told of={done.value} policy={name} onClose={onClose} />;
  if (told.value) {
    const { simulation } = told.value;
    return (
      <Form
        action={t('explorer.proposal.apply')}
        kind="danger"
        onSubmit={apply}
        onCancel={onClose}
        isDisabled={simulation.refusals.length > 0}
        isFocusedOnCancel
      >
        <p>{t('explorer.proposal.dryRun', { policy: name, binding: item.binding.name })}</p>
        <LeftOut of={item} />
        <Outcome of={simulation} />
      </Form>
    );
  }
  return (
    <Form action={t('explorer.proposal.try')} onSubmit={tryOut} onCancel={onClose}>
      <p>{t('explorer.proposal.what', { role: item.role.name })}</p>
      <PolicyFields {...fields} />
      <LeftOut of={item} />
    </Form>
  );
}

function LeftOut({ of: item }: { of: Item }) {
  const left = leftOut(item);
  if (left.length === 0) return null;
  return <Notice kind="warn">{t('explorer.proposal.leftOut', { names: left.map(nameOf).join(', ') })}</Notice>;
}

/** Outcome of the steps. The binding is only ended once users can ask by the policy. */
interface Done {
  /** Reason why users cannot ask by the policy, undefined if they can. */
  notReady?: string | undefined;
  /** Reason why the binding still holds, undefined if it has ended. */
  notEnded?: string | undefined;
}

async function applied(
  item: Item,
  { policy, dryRun: { binding } }: { policy: ReturnType<typeof policyOf>; dryRun: DryRun },
  signal: AbortSignal,
): Promise<Done> {
  await createPolicy(policy, signal);
  try {
    const notReady = await whyNotReady(policy.metadata.name, signal);
    if (notReady !== undefined) return { notReady };
    return (await endBinding(item, binding, signal)) ? {} : { notEnded: t('bindings.changedMeanwhile') };
  } catch (error) {
    return { notEnded: asProblem(error).message };
  }
}

function Told({ of: { notReady, notEnded }, policy, onClose }: { of: Done; policy: string; onClose: () => void }) {
  return (
    <>
      {notReady === undefined && notEnded === undefined && <Notice kind="ok">{t('explorer.proposal.done', { policy })}</Notice>}
      {notReady !== undefined && <Notice kind="warn">{t('explorer.proposal.notReady', { policy, reason: notReady })}</Notice>}
      {notEnded !== undefined && <Notice kind="warn">{t('explorer.proposal.notEnded', { policy, reason: notEnded })}</Notice>}
      <LastLine onClose={onClose} isDone />
    </>
  );
}
