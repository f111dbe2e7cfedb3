import { typedText } from '@atrium/objects/typed-text.ts';
import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import type { AccessRequest } from '../../app/own-requests';
import { durationsUpTo, longestDuration, offeredDuration } from '../../app/request-durations';
import { refreshRights } from '../../app/rights';
import { href, navigate, query } from '../../app/router';
import { duration, t, timeZone } from '../../text/text';
import { CheckField, Field, Form } from '../../ui/form';
import { Loaded } from '../../ui/loaded';
import { instant } from '../../ui/local-time';
import { noPlace, type Place, ScopeChoice } from '../../ui/role-choice';
import { RulesOf } from '../../ui/rules';
import { Empty, Notice } from '../../ui/state';

type Policy = Schemas['AccessPolicy'];

const limit = 500;

/** Form for users who know the policy and the role that they need. */
export function Page() {
  const load = useLoad('requests/policies', (signal) =>
    bodyOf(api.GET('/auth/v1/accesspolicies', { params: { query: { limit } }, signal })),
  );
  return (
    <section class="page narrow">
      <p class="crumb">
        <a href={href('/requests')}>{t('requests.title')}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{t('requests.new')}</h1>
      </header>
      <Loaded load={load}>
        {({ items }) => (items.length === 0 ? <Empty text={t('requests.noPolicy')} /> : <NewRequest policies={items} />)}
      </Loaded>
    </section>
  );
}

function useFields(policies: readonly Policy[]) {
  const asked = query.peek().get('policy');
  const first = policies.find(({ metadata }) => metadata.name === asked) ?? policies[0];
  return {
    policy: useSignal(first?.metadata.name ?? ''),
    role: useSignal(''),
    place: useSignal(noPlace),
    seconds: useSignal(''),
    reason: useSignal(''),
    ticket: useSignal(''),
    notBefore: useSignal(''),
    isBreakGlass: useSignal(false),
    typed: useSignal(''),
  };
}

type Fields = ReturnType<typeof useFields>;

/** Builds the body of a request. The service takes times in whole seconds. */
function bodyFor(policy: Policy, { role, place, seconds, reason, ticket, notBefore, isBreakGlass }: Fields) {
  const { scope, namespaces } = place.value;
  const words = { reason: typedText(reason.value), ticket: policy.spec.ticketPattern === undefined ? '' : typedText(ticket.value) };
  return {
    ...{
      policy: policy.metadata.name,
      roleRef: role.value,
      scope: scope || ('namespace' as const),
      durationSeconds: Number(seconds.value),
    },
    ...(scope !== 'platform' && { namespaces: [...namespaces] }),
    ...(words.reason && { reason: words.reason }),
    ...(words.ticket && { ticket: words.ticket }),
    ...(isBreakGlass.value ? { breakGlass: true } : notBefore.value && { notBefore: instant(notBefore.value).replace(/\.\d+Z$/, 'Z') }),
  };
}

function NewRequest({ policies }: { policies: readonly Policy[] }) {
  const fields = useFields(policies);
  const policy = policies.find(({ metadata }) => metadata.name === fields.policy.value) as Policy;
  const { spec } = policy;
  const max = longestDuration(spec.maxSeconds, fields.isBreakGlass.value);
  keepAllowed(fields, spec.roleRefs, max);
  async function ask(signal: AbortSignal): Promise<void> {
    const request = (await bodyOf(api.POST('/auth/v1/accessrequests', { body: bodyFor(policy, fields) }))) as AccessRequest;
    if (request.status?.phase === 'Active') refreshRights();
    signal.throwIfAborted();
    navigate(`/requests/${request.metadata.name}`);
  }
  return (
    <Form
      action={t('requests.ask')}
      onSubmit={ask}
      onCancel={() => navigate('/requests')}
      isDisabled={fields.isBreakGlass.value && fields.typed.value !== fields.role.value}
    >
      <PolicyFields policies={policies} policy={policy} fields={fields} />
      <Places key={policy.metadata.uid} policy={policy} place={fields.place} />
      <Field label={t('requests.duration')} name="durationSeconds" value={fields.seconds}>
        {durationsUpTo(max).map((seconds) => (
          <option key={seconds} value={seconds}>
            {duration(seconds)}
          </option>
        ))}
      </Field>
      <ReasonFields policy={policy} fields={fields} />
      {!fields.isBreakGlass.value && (
        <Field
          label={t('requests.earliest')}
          name="notBefore"
          type="datetime-local"
          value={fields.notBefore}
          hint={t('requests.earliestHint', { zone: timeZone() })}
        />
      )}
      {spec.breakGlass && <BreakGlass fields={fields} />}
      {!fields.isBreakGlass.value && (
        <p class="notice info">{spec.approvals === 0 ? t('requests.atOnce') : t('requests.needs', { count: spec.approvals })}</p>
      )}
    </Form>
  );
}

/** Replaces a role or a duration that the chosen policy does not allow. */
function keepAllowed({ role, seconds }: Fields, roles: readonly string[], max: number): void {
  if (!roles.includes(role.value)) role.value = roles[0] ?? '';
  seconds.value = String(offeredDuration(Number(seconds.value), max));
}

function PolicyFields({ policies, policy: { spec }, fields }: { policies: readonly Policy[]; policy: Policy; fields: Fields }) {
  return (
    <>
      <Field label={t('requests.policy')} name="policy" value={fields.policy} hint={spec.description}>
        {policies.map(({ metadata, spec: { displayName } }) => (
          <option key={metadata.uid} value={metadata.name}>
            {displayName ? `${displayName} (${metadata.name})` : metadata.name}
          </option>
        ))}
      </Field>
      <Field label={t('roles.role')} name="roleRef" value={fields.role}>
        {spec.roleRefs.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </Field>
      <RulesOf role={fields.role.value} />
    </>
  );
}

function ReasonFields({ policy: { spec }, fields: { reason, ticket } }: { policy: Policy; fields: Fields }) {
  return (
    <>
      <Field
        label={t('requests.why')}
        name="reason"
        value={reason}
        isRequired={spec.requireReason !== false}
        hint={t('requests.whyHint')}
      />
      {spec.ticketPattern !== undefined && (
        <Field
          label={t('requests.ticket')}
          name="ticket"
          value={ticket}
          isRequired
          isCode
          hint={t('requests.ticketHint', { pattern: spec.ticketPattern })}
        />
      )}
    </>
  );
}

/** Places that the policy covers: the platform, and namespaces by choice; by name where it covers all of them. */
function Places({ policy: { metadata, spec }, place }: { policy: Policy; place: Signal<Place> }) {
  const path = { name: metadata.name };
  const load = useLoad(`requests/places/${metadata.uid}`, (signal) =>
    bodyOf(api.GET('/auth/v1/accesspolicies/{name}/namespaces', { params: { path }, signal })),
  );
  const isAny = spec.scope.cluster === true;
  const { scope, namespaces: chosen } = place.value;
  const choose = (change: Partial<Place>) => {
    place.value = { ...place.value, ...change };
  };
  const typed = useSignal('');
  useEffect(() => {
    // Namespaces of another policy are not covered by this one.
    place.value = isAny ? noPlace : { scope: 'namespace', namespaces: [] };
  }, []);
  return (
    <fieldset>
      <legend>{t('roles.where')}</legend>
      {isAny && <ScopeChoice scope={scope} onChoose={(choice) => choose({ scope: choice })} />}
      {isAny && scope === 'namespace' && <TypedNamespaces typed={typed} onChange={(namespaces) => choose({ namespaces })} />}
      {!isAny && (
        <Loaded load={load}>
          {({ items }) => (
            <div class="choices">
              {items.map((name) => (
                <CheckField
                  key={name}
                  label={name}
                  isChecked={chosen.includes(name)}
                  onChange={(isChecked) =>
                    choose({ scope: 'namespace', namespaces: isChecked ? [...chosen, name] : chosen.filter((other) => other !== name) })
                  }
                />
              ))}
              {items.length === 0 && <p class="muted">{t('requests.noPlace')}</p>}
            </div>
          )}
        </Loaded>
      )}
    </fieldset>
  );
}

function TypedNamespaces({ typed, onChange }: { typed: Signal<string>; onChange: (names: string[]) => void }) {
  return (
    // Events of the field bubble: its text is split after each of them.
    <div onInput={() => onChange(typed.value.split(/[\s,]+/).filter(Boolean))}>
      <Field label={t('requests.namespaces')} name="namespaces" value={typed} isRequired isCode hint={t('requests.namespacesHint')} />
    </div>
  );
}

function BreakGlass({ fields: { isBreakGlass, typed, role } }: { fields: Fields }) {
  return (
    <fieldset>
      <legend>{t('requests.breakGlass')}</legend>
      <CheckField
        label={t('requests.breakGlassAsk')}
        isChecked={isBreakGlass.value}
        onChange={(isChecked) => {
          isBreakGlass.value = isChecked;
        }}
      />
      {isBreakGlass.value && (
        <>
          <Notice kind="warn">{t('requests.breakGlassWhat')}</Notice>
          <Field label={t('requests.typeRole', { role: role.value })} name="typed" value={typed} isRequired isCode />
        </>
      )}
    </fieldset>
  );
}
