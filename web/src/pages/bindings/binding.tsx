import { compareResourceVersions } from '@atrium/kubernetes/resource-version.ts';
import { useSignal } from '@preact/signals';
import { CalendarClock, Trash2 } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { asProblem } from '../../api/problem';
import { useWatch } from '../../api/watch';
import { Guarded } from '../../app/guarded';
import type { PageProps } from '../../app/page-props';
import { RefusedMenu } from '../../app/refused-menu';
import { may, useRights } from '../../app/rights';
import { href, navigate } from '../../app/router';
import { dateTime, t, tOf } from '../../text/text';
import { Button } from '../../ui/button';
import { Facts } from '../../ui/facts';
import { Loaded } from '../../ui/loaded';
import { RulesOf } from '../../ui/rules';
import { Notice } from '../../ui/state';
import { toast } from '../../ui/toast';
import { ActivityLink } from '../activity/activity-link';
import { StandingLink } from '../explorer/standing-link';
import { asRead, bindingsPath } from './as-read';
import { StateOf, subjectsOf, whereOf } from './binding-words';
import { EditTerm } from './edit-term';

const rightsOf = (name: string) => ({
  get: { verb: 'get', resource: 'userbindings', name },
  watch: { verb: 'watch', resource: 'userbindings', name },
  change: { verb: 'patch', resource: 'userbindings', name },
  remove: { verb: 'delete', resource: 'userbindings', name },
});

export function Page({ params: { name = '' } }: PageProps) {
  const rights = rightsOf(name);
  useRights(Object.values(rights));
  return (
    <Guarded right={rights.get} title={t('bindings.title')}>
      <OneBinding name={name} />
    </Guarded>
  );
}

/**
 * Deletes without confirmation, since undo creates the same binding again. Preconditions limit the deletion to the binding as it is shown.
 */
async function remove(binding: Schemas['UserBinding']): Promise<void> {
  const { metadata, spec } = binding;
  const path = { name: metadata.name };
  try {
    const other = await asRead(binding, (preconditions) =>
      api.DELETE('/auth/v2/userbindings/{name}', { params: { path }, body: { preconditions } }),
    );
    if (other !== undefined) {
      toast('bad', t('bindings.changedMeanwhile'));
      return await refetch('bindings');
    }
    navigate('/bindings');
    const undo = () => {
      const body = { metadata: path, spec };
      api.POST('/auth/v2/userbindings', { body }).then(
        () => navigate(`/bindings/${metadata.name}`),
        (error: unknown) => toast('bad', asProblem(error).message),
      );
    };
    // A finalizer keeps the binding until its role bindings are deleted.
    toast('info', t('bindings.beingDeleted'), { label: t('action.undo'), act: undo });
  } catch (error) {
    toast('bad', asProblem(error).message);
  }
}

function OneBinding({ name }: { name: string }) {
  const { load, lost, leave } = useBinding(name);
  const isEditing = useSignal(false);
  const binding = load.data.value;
  return (
    <section class="page">
      <p class="crumb">
        <a href={href('/bindings')}>{t('bindings.title')}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{binding ? t('bindings.of', { role: binding.spec.roleRef }) : name}</h1>
        {binding && <StateOf binding={binding} />}
        <div class="buttons">
          {binding && (
            <Actions
              name={name}
              onEdit={() => {
                isEditing.value = true;
              }}
              onDelete={() => void leave(binding)}
            />
          )}
        </div>
      </header>
      {binding && isEditing.value && (
        <EditTerm
          binding={binding}
          onClose={() => {
            isEditing.value = false;
          }}
        />
      )}
      <Loaded load={load} lost={lost.value}>
        {(shown) => <Cards binding={shown} />}
      </Loaded>
    </section>
  );
}

/** Loads a binding, and follows the outcome that the controller reports in its status after a while. */
function useBinding(name: string) {
  const path = { name };
  const load = useLoad(`bindings/${name}`, (signal) => bodyOf(api.GET('/auth/v2/userbindings/{name}', { params: { path }, signal })));
  const isLeaving = useSignal(false);
  // A binding that is being deleted is not loaded again.
  async function leave(shown: Schemas['UserBinding']): Promise<void> {
    isLeaving.value = true;
    await remove(shown);
    isLeaving.value = false;
  }
  const lost = useWatch(
    {
      path: may(rightsOf(name).watch) && !isLeaving.value ? bindingsPath : undefined,
      fieldSelector: `metadata.name=${name}`,
      resourceVersion: load.data.value?.metadata.resourceVersion,
      isShown: (version) =>
        load.error.value !== undefined || (compareResourceVersions(load.data.value?.metadata.resourceVersion ?? '', version) ?? 0) >= 0,
    },
    load.reload,
  );
  return { load, lost, leave };
}

interface ActionsProps {
  name: string;
  onEdit: () => void;
  onDelete: () => void;
}

function Actions({ name, onEdit, onDelete }: ActionsProps) {
  const { change, remove: removal } = rightsOf(name);
  return (
    <>
      {may(change) && (
        <Button icon={CalendarClock} onClick={onEdit}>
          {t('bindings.changeTimes')}
        </Button>
      )}
      {may(removal) && (
        <Button kind="danger" icon={Trash2} onClick={onDelete}>
          {t('user.delete')}
        </Button>
      )}
      <RefusedMenu
        of={[
          { rights: [change], label: t('bindings.changeTimes'), icon: CalendarClock },
          { rights: [removal], label: t('user.delete'), icon: Trash2 },
        ]}
      />
    </>
  );
}

function Cards({ binding }: { binding: Schemas['UserBinding'] }) {
  const { metadata, spec } = binding;
  return (
    <>
      {problemsOf(binding).map((message) => (
        <Notice key={message} kind="warn">
          {message}
        </Notice>
      ))}
      <div class="cards">
        <section class="card" aria-labelledby="binding-title">
          <h2 id="binding-title">{t('bindings.what')}</h2>
          <Facts
            of={[
              [t('bindings.who'), subjectsOf(binding)],
              [t('roles.role'), <code key="role">{spec.roleRef}</code>],
              [t('roles.where'), whereOf(binding)],
              [t('bindings.from'), spec.notBefore && dateTime(spec.notBefore)],
              [t('bindings.until'), spec.expiresAt && dateTime(spec.expiresAt)],
              [t('user.created'), dateTime(metadata.creationTimestamp)],
              [t('bindings.became'), becameOf(binding)],
            ]}
          />
          <p class="buttons">
            <ActivityLink of={{ kind: 'userbindings.auth.platform.io', name: metadata.name, since: 'all' }}>
              {t('activity.onObject')}
            </ActivityLink>
            {!spec.expiresAt && <StandingLink name={metadata.name} />}
          </p>
        </section>
        <section class="card" aria-labelledby="rules-title">
          <h2 id="rules-title">{t('bindings.rules')}</h2>
          <RulesOf role={spec.roleRef} />
        </section>
      </div>
    </>
  );
}

/** Returns the messages of unmet conditions without duplicates: `Ready` repeats that of its cause. */
function problemsOf({ status }: Schemas['UserBinding']): string[] {
  const unmet = (status?.conditions ?? []).filter((condition) => condition.status === 'False');
  return [...new Set(unmet.map(({ message, reason }) => message || tOf('reason', reason)))];
}

function becameOf({ status }: Schemas['UserBinding']): string {
  const { clusterRoleBindings = 0, roleBindings = 0 } = status?.bindingsCreated ?? {};
  return [
    clusterRoleBindings > 0 && t('bindings.clusterRoleBindings', { count: clusterRoleBindings }),
    roleBindings > 0 && t('bindings.roleBindings', { count: roleBindings }),
  ]
    .filter(Boolean)
    .join(', ');
}
