import { Plus } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { Guarded } from '../../app/guarded';
import { may, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { LinkButton } from '../../ui/button';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty } from '../../ui/state';
import { StateOf, subjectsOf, whereOf } from './binding-words';

const listRight = { verb: 'list', resource: 'userbindings' };
const createRight = { verb: 'create', resource: 'userbindings' };

export function Page() {
  useRights([listRight, createRight]);
  return (
    <Guarded right={listRight} title={t('bindings.title')}>
      <Bindings />
    </Guarded>
  );
}

function Bindings() {
  const load = useLoad('bindings', (signal) => bodyOf(api.GET('/auth/v2/userbindings', { params: { query: { limit: 1000 } }, signal })));
  const newButton = may(createRight) && (
    <LinkButton to="/bindings/new" kind="main" icon={Plus}>
      {t('bindings.new')}
    </LinkButton>
  );
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('bindings.title')}</h1>
        <div class="buttons">{newButton}</div>
      </header>
      <Loaded load={load}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('bindings.none')} />
          ) : (
            <PlainTable
              label={t('bindings.title')}
              rows={items}
              idOf={({ metadata }) => metadata.name}
              columns={[
                {
                  title: t('bindings.who'),
                  cell: (binding: Schemas['UserBinding']) => (
                    <a class="strong" href={href(`/bindings/${binding.metadata.name}`)}>
                      {subjectsOf(binding)}
                    </a>
                  ),
                },
                { title: t('roles.role'), cell: ({ spec }) => <code>{spec.roleRef}</code> },
                { title: t('roles.where'), cell: whereOf },
                { title: t('users.phase'), cell: (binding) => <StateOf binding={binding} /> },
              ]}
            />
          )
        }
      </Loaded>
    </section>
  );
}
