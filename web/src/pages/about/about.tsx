import { base } from '../../api/client';
import { useVersion } from '../../api/version';
import { t } from '../../text/text';
import { Facts } from '../../ui/facts';
import { Loaded } from '../../ui/loaded';

const namesOf = (features: Readonly<Record<string, boolean>>, isOn: boolean) =>
  Object.keys(features)
    .filter((name) => features[name] === isOn)
    .sort()
    .join(', ');

export function Page() {
  const load = useVersion();
  const link = (path: string, text: string) => (
    <a href={new URL(path, base).href} data-outside>
      {text}
    </a>
  );
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('about.title')}</h1>
      </header>
      <Loaded load={load}>
        {({ version, nodeVersion, features }) => (
          <section class="card" aria-labelledby="version-title">
            <h2 id="version-title">Atrium</h2>
            <Facts
              of={[
                [t('about.version'), version],
                ['Node.js', nodeVersion],
                [t('about.api'), link('docs', t('about.apiRead'))],
                [t('about.document'), link('openapi/v3', 'openapi/v3')],
                [t('about.on'), namesOf(features, true)],
                [t('about.off'), namesOf(features, false)],
                [t('about.licences'), link('licences.txt', 'licences.txt')],
              ]}
            />
          </section>
        )}
      </Loaded>
    </section>
  );
}
