"""Every finding has a title in words."""

from hudi_table_services.contract.config_check import ConfigFinding
from hudi_table_services.contract.health import MEASURES, HealthFinding
from hudi_table_services.contract.text import MEASURE_TITLES, RULE_TITLES
from hudi_table_services.planning.config_check.check import CONFIG_RULES


def test_each_measure_and_each_rule_has_its_own_title() -> None:
    assert MEASURE_TITLES.keys() == MEASURES.keys()
    assert RULE_TITLES.keys() == {rule.rule_id for rule in CONFIG_RULES}
    titles = [*MEASURE_TITLES.values(), *RULE_TITLES.values()]
    assert len(set(titles)) == len(titles)
    for title in titles:
        assert title[0].isupper()
        assert "_" not in title
        assert not title.endswith(".")


def test_a_finding_states_its_title_and_the_name_under_which_limits_are_set() -> None:
    finding = HealthFinding(level="warn", measure="dead_instants", value=2, limit=0, advice="Run it.")
    assert finding.statement == "Dead instants (dead_instants): 2, above 0"
    assert ConfigFinding(rule="runs-overlap", severity="warning").title == "Overlapping runs of the DAG"
    assert ConfigFinding(rule="of-another-release", severity="warning").title == "of-another-release"
