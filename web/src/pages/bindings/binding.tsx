import { Trash2 } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { asProblem } from '../../api/problem';
import { Guarded } from '../../app/guarded';
import type { PageProps } from '../../app/pages';
import { may, useRights } from '../../app/rights';
import { href, navigate } from '../../app/router';
import { dateTime, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Facts } from '../../ui/facts';
import { Loaded } from '../../ui/loaded';
import { RulesOf } from '../../ui/rules';
import { Notice } from '../../ui/state';
import { toast } from '../../ui/toast';
import { StateOf, subjectsOf, whereOf } from './binding-words';

const rightsOf = (name: string) => ({
  get: { verb: 'get', resource: 'userbindings', name },
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

/** At once, since it can be undone: the same binding is made again. */
async function remove({ metadata, spec }: Schemas['UserBinding']): Promise<void> {
  try {
    await api.DELETE('/auth/v2/userbindings/{name}', { params: { path: { name: metadata.name } } });
    navigate('/bindings');
    const undo = () => {
      const body = { metadata: { name: metadata.name }, spec };
      api.POST('/auth/v2/userbindings', { body }).then(
        () => navigate(`/bindings/${metadata.name}`),
        (error: unknown) => toast('bad', asProblem(error).message),
      );
    };
    toast('ok', t('bindings.deleted'), { label: t('action.undo'), act: undo });
  } catch (error) {
    toast('bad', asProblem(error).message);
  }
}

function OneBinding({ name }: { name: string }) {
  const path = { name };
  const load = useLoad(`bindings/${name}`, (signal) => bodyOf(api.GET('/auth/v2/userbindings/{name}', { params: { path }, signal })));
  return (
    <section class="page">
      <p class="crumb">
        <a href={href('/bindings')}>{t('bindings.title')}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{load.data.value ? t('bindings.of', { role: load.data.value.spec.roleRef }) : name}</h1>
        {load.data.value && <StateOf binding={load.data.value} />}
        <div class="buttons">
          {load.data.value && may(rightsOf(name).remove) && (
            <Button kind="danger" icon={Trash2} onClick={() => load.data.value && void remove(load.data.value)}>
              {t('user.delete')}
            </Button>
          )}
        </div>
      </header>
      <Loaded load={load}>
        {(binding) => (
          <>
            {(binding.status?.conditions ?? [])
              .filter(({ status }) => status === 'False')
              .map(({ type, message }) => (
                <Notice key={type} kind="warn">
                  {message}
                </Notice>
              ))}
            <div class="cards">
              <section class="card" aria-labelledby="binding-title">
                <h2 id="binding-title">{t('bindings.what')}</h2>
                <Facts
                  of={[
                    [t('bindings.who'), subjectsOf(binding)],
                    [t('roles.role'), <code key="role">{binding.spec.roleRef}</code>],
                    [t('roles.where'), whereOf(binding)],
                    [t('bindings.from'), binding.spec.notBefore && dateTime(binding.spec.notBefore)],
                    [t('bindings.until'), binding.spec.expiresAt && dateTime(binding.spec.expiresAt)],
                    [t('user.created'), dateTime(binding.metadata.creationTimestamp)],
                    [t('bindings.became'), becameOf(binding)],
                  ]}
                />
              </section>
              <section class="card" aria-labelledby="rules-title">
                <h2 id="rules-title">{t('bindings.rules')}</h2>
                <RulesOf role={binding.spec.roleRef} />
              </section>
            </div>
          </>
        )}
      </Loaded>
    </section>
  );
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
