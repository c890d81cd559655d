from labelwise.records.asking import Answer as Answer
from labelwise.records.asking import Question as Question
from labelwise.records.costs import Costs as Costs
from labelwise.records.costs import Spent as Spent
from labelwise.records.label_data import Features as Features
from labelwise.records.label_data import LabelData as LabelData
from labelwise.records.label_data import features_by_name as features_by_name
from labelwise.records.label_data import in_shards as in_shards
