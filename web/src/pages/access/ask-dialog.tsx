/** Dialog that asks for a role of a policy, for a while. */
import { typedText } from '@atrium/objects/typed-text.ts';
import { type Signal, useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch } from '../../api/load';
import { type AccessOption, wish } from '../../app/ask';
import { ownRequests } from '../../app/own-requests';
import { durationsUpTo, longestDuration, offeredDuration } from '../../app/request-durations';
import { refreshRights } from '../../app/rights';
import { navigate } from '../../app/router';
import { Needed } from '../../app/why';
import { duration, t } from '../../text/text';
import { Dialog } from '../../ui/dialog';
import { CheckField, Field, Form } from '../../ui/form';
import { RulesOf } from '../../ui/rules';
import { Notice } from '../../ui/state';
import { toast } from '../../ui/toast';

type Request = Schemas['AccessRequest'];

/** Closes once the request is made: the page goes on, and messages tell what becomes of it. */
export function AskDialog({ onClose }: { onClose: () => void }) {
  const wanted = wish.value;
  if (wanted === undefined) return null;
  return (
    <Dialog title={t('ask.title')} onClose={onClose}>
      <p>
        <Needed right={wanted.right} />
      </p>
      <AskForm
        items={wanted.items}
        onClose={onClose}
        onMade={(request) => {
          onClose();
          tellNext(request);
        }}
      />
    </Dialog>
  );
}

interface AskFormProps {
  items: readonly AccessOption[];
  onClose: () => void;
  onMade: (request: Request) => void;
}

function AskForm({ items, onClose, onMade }: AskFormProps) {
  const [chosen, seconds] = [useSignal('0'), useSignal('')];
  const [reason, ticket] = [useSignal(''), useSignal('')];
  const glass = { isChosen: useSignal(false), typed: useSignal('') };
  const item = items[Number(chosen.value)] as AccessOption;
  const isGlass = item.breakGlass && glass.isChosen.value;
  const max = longestDuration(item.maxSeconds, isGlass);
  const durationSeconds = offeredDuration(Number(seconds.value), max);
  if (seconds.value !== String(durationSeconds)) seconds.value = String(durationSeconds);
  async function ask(): Promise<void> {
    const { policy, role: roleRef, scope, namespaces } = item;
    const body = {
      ...{ policy, roleRef, scope, durationSeconds },
      ...(namespaces && { namespaces }),
      ...(typedText(reason.value) && { reason: typedText(reason.value) }),
      ...(item.ticketPattern !== undefined && { ticket: typedText(ticket.value) }),
      ...(isGlass && { breakGlass: true }),
    };
    const request = (await bodyOf(api.POST('/auth/v1/accessrequests', { body }))) as Request;
    // Approvals are not needed, or the role is given by break-glass.
    if (request.status?.phase === 'Active') refreshRights();
    else void refetch('options/');
    onMade(request);
  }
  return (
    <Form
      action={t(isGlass ? 'ask.useNow' : 'ask.send')}
      kind={isGlass ? 'danger' : 'main'}
      onSubmit={ask}
      onCancel={onClose}
      isDisabled={isGlass && typedText(glass.typed.value) !== item.role}
    >
      <RoleField {...{ items, item, chosen }} />
      <Field label={t('ask.duration')} name="durationSeconds" value={seconds} hint={t('ask.durationHint', { duration: duration(max) })}>
        {durationsUpTo(max).map((one) => (
          <option key={one} value={one}>
            {duration(one)}
          </option>
        ))}
      </Field>
      <Field label={t('ask.reason')} name="reason" value={reason} isRequired={item.requireReason} hint={t('ask.reasonHint')} />
      {item.ticketPattern !== undefined && <TicketField value={ticket} pattern={item.ticketPattern} />}
      {item.breakGlass && <BreakGlass {...glass} role={item.role} />}
      {!isGlass && <p class="notice info">{approvalsInWords(item)}</p>}
    </Form>
  );
}

const TicketField = ({ value, pattern }: { value: Signal<string>; pattern: string }) => (
  <Field label={t('ask.ticket')} name="ticket" value={value} isRequired isCode hint={t('ask.ticketHint', { pattern })} />
);

interface BreakGlassProps {
  isChosen: Signal<boolean>;
  typed: Signal<string>;
  role: string;
}

/** Use of the role without an approval. The name is typed, so that it is no slip of the hand. */
const BreakGlass = ({ isChosen, typed, role }: BreakGlassProps) => (
  <>
    <CheckField
      label={t('ask.glass')}
      isChecked={isChosen.value}
      onChange={(isChecked) => {
        isChosen.value = isChecked;
      }}
    />
    {isChosen.value && (
      <>
        <Notice kind="warn">{t('ask.glassHint')}</Notice>
        <Field label={t('ask.glassType', { role })} name="breakGlass" value={typed} isCode />
      </>
    )}
  </>
);

interface RoleFieldProps {
  items: readonly AccessOption[];
  item: AccessOption;
  chosen: Signal<string>;
}

/** The role with its rules, and the place. */
function RoleField({ items, item, chosen }: RoleFieldProps) {
  return (
    <>
      {items.length > 1 ? (
        <Field label={t('ask.role')} name="roleRef" value={chosen} hint={t('ask.roleHint', { policy: item.policy })}>
          {items.map((one, index) => (
            <option key={`${one.policy} ${one.role} ${one.scope}`} value={index}>
              {roleInWords(one)}
              {one.approvals > 0 && ` (${t('ask.approvals', { count: one.approvals })})`}
            </option>
          ))}
        </Field>
      ) : (
        <p class="measure">
          {t('ask.one')} <strong>{roleInWords(item)}</strong>
        </p>
      )}
      <RulesOf role={item.role} />
    </>
  );
}

const roleInWords = ({ role, scope, namespaces = [] }: AccessOption): string =>
  scope === 'platform' ? t('ask.optionAll', { role }) : t('ask.option', { role, place: namespaces.join(', ') });

const approvalsInWords = ({ approvals }: AccessOption): string =>
  approvals === 0 ? t('ask.atOnce') : t('ask.needs', { count: approvals });

/** Tells what the request waits for. The message of its begin replaces this one. */
function tellNext({ metadata, spec, status: first }: Request): void {
  const { status } = ownRequests.peek().find(({ metadata: { uid } }) => uid === metadata.uid) ?? { status: first };
  // The shell tells of access that has begun. A new request has no phase for a moment.
  if (status?.phase === 'Active') return;
  const isGiven = spec.breakGlass || spec.approvals === 0;
  const next = isGiven ? t('ask.comes', { role: spec.roleRef }) : t('ask.waits', { count: spec.approvals });
  toast('info', next, { label: t('ask.open'), act: () => navigate(`/requests/${metadata.name}`) }, metadata.uid);
}
