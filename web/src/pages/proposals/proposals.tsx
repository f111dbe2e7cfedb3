import { api, bodyOf } from '../../api/client';
import { useLoad } from '../../api/load';
import { agentName } from '../../app/agent-name';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { Ago } from '../../ui/age';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty } from '../../ui/state';
import { ProposalPhase, sentenceOf } from './words';

/** Lists the changes that agents of the user have proposed. */
export function Page() {
  const load = useLoad('proposals', (signal) => bodyOf(api.GET('/auth/v1/changeproposals', { signal })));
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('proposals.title')}</h1>
      </header>
      <p class="muted measure">{t('proposals.what')}</p>
      <Loaded load={load}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('proposals.none')} />
          ) : (
            <PlainTable
              label={t('proposals.title')}
              rows={items}
              idOf={({ metadata }) => metadata.name}
              columns={[
                {
                  title: t('explorer.change'),
                  cell: (proposal) => (
                    <a class="strong" href={href(`/proposals/${proposal.metadata.name}`)}>
                      {sentenceOf(proposal)}
                    </a>
                  ),
                },
                { title: t('proposals.agent'), cell: ({ agent }) => <bdi>{agentName(agent)}</bdi> },
                { title: t('users.phase'), cell: ProposalPhase },
                { title: t('proposals.proposed'), cell: ({ metadata }) => <Ago since={metadata.creationTimestamp} /> },
              ]}
            />
          )
        }
      </Loaded>
    </section>
  );
}
