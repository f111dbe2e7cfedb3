/** Open reviews: owners keep, shorten or end the standing bindings of a place, each with their own rights. */
import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { asProblem } from '../../api/problem';
import { dateOnly, t, timeZone } from '../../text/text';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { Loaded } from '../../ui/loaded';
import { instant, localTime } from '../../ui/local-time';
import { PlainTable } from '../../ui/plain-table';
import { Notice } from '../../ui/state';
import { toast } from '../../ui/toast';
import { BindingLink, nameOf, RoleLink } from './grants';

type Review = Schemas['BindingReview'];
type Item = Schemas['ReviewedBindingList']['items'][number];

type Decision = { decision: 'Keep' | 'End' } | { decision: 'Shorten'; until: string };

const maxShownSubjects = 3;
const limit = 50;
/** Time that the form offers until the end of a binding. */
const usualMs = 30 * 86_400_000;

export function Reviews() {
  const load = useLoad('reviews', (signal) => bodyOf(api.GET('/auth/v1/bindingreviews', { params: { query: { limit } }, signal })));
  return (
    <Loaded load={load}>
      {({ items }) => (
        <>
          {items.map((review) => (
            <Bindings key={review.metadata.name} of={review} />
          ))}
        </>
      )}
    </Loaded>
  );
}

/** A review, which is opened to see its bindings. */
function Bindings({ of: review }: { of: Review }) {
  const isOpen = useSignal(false);
  const { spec, status } = review;
  const place = spec.namespace ?? t('explorer.everywhere');
  return (
    <details class="card" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <strong>{t('explorer.review.title', { place })}</strong>{' '}
        {status?.dueAt !== undefined && (
          <span class="muted">
            {t(`explorer.review.phase.${status.phase ?? 'Open'}`, { count: status.open ?? 0, date: dateOnly(status.dueAt) })}
          </span>
        )}
      </summary>
      {isOpen.value && <Answers of={review} />}
    </details>
  );
}

function Answers({ of: { metadata, spec, status } }: { of: Review }) {
  const { name } = metadata;
  const path = { params: { path: { name } } };
  const load = useLoad(`reviewed/${name}`, (signal) => bodyOf(api.GET('/auth/v1/bindingreviews/{name}/bindings', { ...path, signal })));
  const ending = useSignal<Item | undefined>(undefined);
  const shortening = useSignal<Item | undefined>(undefined);
  async function answer({ binding, version }: Item, decision: Decision, signal?: AbortSignal): Promise<void> {
    const body = { ...decision, name: binding.name, version };
    await bodyOf(api.POST('/auth/v1/bindingreviews/{name}/answers', { ...path, body, ...(signal && { signal }) }));
    await refetch('reviews', 'reviewed', 'standing');
  }
  const keep = (item: Item) => void answer(item, { decision: 'Keep' }).catch((error: unknown) => toast('bad', asProblem(error).message));
  return (
    <>
      <p class="muted measure">{t(spec.unanswered === 'End' ? 'explorer.review.ends' : 'explorer.review.keeps')}</p>
      {status?.reminderFailure !== undefined && <Notice kind="warn">{t(`explorer.review.notReminded.${status.reminderFailure}`)}</Notice>}
      <Loaded load={load}>
        {({ items, total }) => (
          <>
            {total > items.length && <Notice kind="warn">{t('explorer.review.tooMany')}</Notice>}
            <PlainTable
              label={t('explorer.review.bindings')}
              idOf={({ binding }) => binding.name}
              rows={items}
              columns={[
                { title: t('explorer.role'), cell: (row) => <Held of={row} /> },
                { title: t('explorer.binding'), cell: ({ binding }) => <BindingLink of={binding} /> },
                { title: t('explorer.review.answer'), cell: (row) => <Told of={row} /> },
                {
                  title: '',
                  cell: (row) => (
                    <Decisions
                      onKeep={() => keep(row)}
                      onShorten={row.binding.userBinding === undefined ? undefined : () => (shortening.value = row)}
                      onEnd={() => (ending.value = row)}
                    />
                  ),
                },
              ]}
            />
          </>
        )}
      </Loaded>
      {ending.value && (
        <End
          of={ending.value}
          onClose={() => (ending.value = undefined)}
          onEnd={(item, signal) => answer(item, { decision: 'End' }, signal)}
        />
      )}
      {shortening.value && (
        <Shorten
          of={shortening.value}
          onClose={() => (shortening.value = undefined)}
          onShorten={(shortened, until, signal) => answer(shortened, { decision: 'Shorten', until }, signal)}
        />
      )}
    </>
  );
}

interface EndProps {
  of: Item;
  onClose: () => void;
  onEnd: (item: Item, signal: AbortSignal) => Promise<void>;
}

const End = ({ of: item, onClose, onEnd }: EndProps) => (
  <Confirm
    title={t('explorer.review.endTitle', { name: item.binding.userBinding ?? item.binding.name })}
    action={t('explorer.review.end')}
    onClose={onClose}
    onConfirm={async (signal) => {
      await onEnd(item, signal);
      onClose();
    }}
  >
    <p>{t('explorer.review.endWhat', { role: item.role.name, names: item.subjects.map(nameOf).join(', ') })}</p>
  </Confirm>
);

interface ShortenProps {
  of: Item;
  onClose: () => void;
  onShorten: (item: Item, until: string, signal: AbortSignal) => Promise<void>;
}

/** Form for the end of a UserBinding that has none. */
function Shorten({ of: item, onClose, onShorten }: ShortenProps) {
  const { role, subjects, binding } = item;
  const until = useSignal(localTime(new Date(Date.now() + usualMs).toISOString()));
  async function shorten(signal: AbortSignal): Promise<void> {
    await onShorten(item, instant(until.value), signal);
    onClose();
    toast('ok', t('action.saved'));
  }
  return (
    <Dialog title={t('explorer.review.shortenTitle', { name: binding.userBinding ?? binding.name })} onClose={onClose}>
      <Form action={t('explorer.review.shorten')} onSubmit={shorten} onCancel={onClose}>
        <p>{t('explorer.review.shortenWhat', { role: role.name, names: subjects.map(nameOf).join(', ') })}</p>
        <Field
          label={t('bindings.until')}
          name="until"
          type="datetime-local"
          value={until}
          isRequired
          hint={t('explorer.review.shortenHint', { zone: timeZone() })}
        />
      </Form>
    </Dialog>
  );
}

interface DecisionsProps {
  onKeep: () => void;
  /** Undefined for a binding that can have no end. */
  onShorten: (() => void) | undefined;
  onEnd: () => void;
}

const Decisions = ({ onKeep, onShorten, onEnd }: DecisionsProps) => (
  <div class="buttons">
    <Button kind="quiet" onClick={onKeep}>
      {t('explorer.review.keep')}
    </Button>
    {onShorten && (
      <Button kind="quiet" onClick={onShorten}>
        {t('explorer.review.shorten')}
      </Button>
    )}
    <Button kind="quiet" onClick={onEnd}>
      {t('explorer.review.end')}
    </Button>
  </div>
);

function Held({ of: { role, subjects } }: { of: Item }) {
  const more = subjects.length - maxShownSubjects;
  return (
    <>
      <RoleLink of={role} />
      <div class="muted small">
        <bdi>{subjects.slice(0, maxShownSubjects).map(nameOf).join(', ')}</bdi>
        {more > 0 && ` ${t('chain.more', { count: more })}`}
      </div>
    </>
  );
}

function Told({ of: { answer, isOwn } }: { of: Item }) {
  if (answer === undefined) return isOwn ? t('explorer.review.own') : t('explorer.review.none');
  return t('explorer.review.kept', { who: answer.by ?? '', date: dateOnly(answer.time) });
}
