import './explorer.css';
import type { PageProps } from '../../app/page-props';
import { t } from '../../text/text';
import { Tabs } from '../../ui/tabs';
import { RulesOf } from './rules-of';
import { Simulate } from './simulate';
import { Standing } from './standing';
import { WhoCan } from './who-can';

const tabs = ['rights', 'who', 'standing', 'simulate'] as const;
type Tab = (typeof tabs)[number];

const parts = { rights: RulesOf, who: WhoCan, standing: Standing, simulate: Simulate } as const;

const isTab = (tab: string | undefined): tab is Tab => tabs.some((one) => one === tab);

export function Page({ params: { tab } }: PageProps) {
  const current = isTab(tab) ? tab : 'rights';
  const Part = parts[current];
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('explorer.title')}</h1>
      </header>
      <p class="muted measure">{t('explorer.what')}</p>
      <Tabs
        label={t('explorer.title')}
        tabs={tabs.map((id) => ({ id, label: t(`explorer.tab.${id}`) }))}
        current={current}
        to={(id) => (id === 'rights' ? '/explorer' : `/explorer/${id}`)}
      />
      <div class="explorer">
        <Part key={current} />
      </div>
    </section>
  );
}
