import { expect } from 'chai';
import { ConfigError, effectiveSettings, parseConfig, settingsOfProfile } from '../../../src/config/load.ts';
import { profileNames } from '../../../src/config/profiles.ts';

const server = { publicURL: 'https://console.example.com' };
const settings = (more: object) => ({ yaml: JSON.stringify({ server, ...more }) });

const featuresOf = (more: object, environment: Record<string, string> = {}) => {
  const { features, lists, users } = parseConfig({ ...settings(more), environment });
  const { userBindings, accessTokens, accessRequests } = features;
  return { userBindings, accessTokens, accessRequests, preset: lists.preset, certificates: users.certificates.enabled };
};

const team = { userBindings: true, accessTokens: true, accessRequests: true, preset: 'workloads', certificates: false };
const minimal = { userBindings: false, accessTokens: false, accessRequests: false, preset: 'none', certificates: false };

function problemsOf(more: object): Record<string, string> {
  try {
    parseConfig(settings(more));
  } catch (error) {
    if (error instanceof ConfigError) return Object.fromEntries(error.problems.map(({ path, message }) => [path, message]));
  }
  throw new Error('the configuration was accepted');
}

describe('the profile of the configuration', () => {
  it('sets the features of a team, or none of them', () => {
    expect(featuresOf({ profile: 'team' })).to.deep.equal(team);
    expect(featuresOf({ profile: 'minimal' })).to.deep.equal(minimal);
    expect(profileNames).to.deep.equal(['team', 'minimal']);
  });

  it('changes no setting of a configuration that names none', () => {
    const defaults = { userBindings: true, accessTokens: true, accessRequests: false, preset: 'none', certificates: true };

    expect(featuresOf({})).to.deep.equal(defaults);
    expect(settingsOfProfile(settings({}))).to.deep.equal([]);
  });

  it('is overridden by settings of single features, in the file and in the environment', () => {
    const more = { profile: 'team', features: { accessTokens: false }, users: { certificates: { enabled: true } } };

    expect(featuresOf(more)).to.deep.equal({ ...team, accessTokens: false, certificates: true });
    expect(featuresOf({ profile: 'team' }, { ATRIUM_LISTS__PRESET: 'none' })).to.deep.equal({ ...team, preset: 'none' });
    expect(featuresOf({ profile: 'minimal', features: { userBindings: true } })).to.deep.equal({ ...minimal, userBindings: true });
  });

  it('is set by ATRIUM_PROFILE, too', () => {
    expect(featuresOf({}, { ATRIUM_PROFILE: 'team' })).to.deep.equal(team);
    expect(featuresOf({ profile: 'team' }, { ATRIUM_PROFILE: 'minimal' })).to.deep.equal(minimal);
  });

  it('is refused by name if it does not exist', () => {
    expect(problemsOf({ profile: 'teams' })).to.have.keys('profile');
    expect(problemsOf({ profile: 'teams' }).profile).to.match(/"team".*"minimal"/);
  });

  it('is named by a problem of a setting that it makes', () => {
    const message = 'needs features.userBindings, which give the access';

    expect(problemsOf({ profile: 'team', features: { userBindings: false } })).to.deep.equal({
      'features.accessRequests': `${message} (the profile team sets it)`,
    });
    expect(problemsOf({ features: { userBindings: false, accessRequests: true } })).to.deep.equal({ 'features.accessRequests': message });
  });

  it('is told with each of its settings, and with the values that override them', () => {
    const told = settingsOfProfile(settings({ profile: 'team', features: { accessTokens: false } }));

    expect(told).to.deep.include.members([
      { path: 'lists.preset', value: 'workloads', override: undefined },
      { path: 'features.accessTokens', value: true, override: false },
    ]);
    expect(told).to.have.length(5);
  });

  it('is part of the effective settings', () => {
    const effective = effectiveSettings(settings({ profile: 'team', features: { accessTokens: false } }));

    expect(effective).to.have.nested.property('lists.preset', 'workloads');
    expect(effective).to.have.nested.property('features.accessRequests', true);
    expect(effective).to.have.nested.property('features.accessTokens', false);
  });
});
