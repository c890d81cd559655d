from labelwise.views import plots as plots
from labelwise.views.frames import to_frame as to_frame
from labelwise.views.html import CampaignViews as CampaignViews
from labelwise.views.html import DataViews as DataViews
from labelwise.views.wording import counted as counted
from labelwise.views.wording import duration as duration
